/* The log of changed rows, engine/tables/row_log.h: append and read, checked exhaustively.
 *
 * What is modelled: a ring of SIZE entries, one writer that appends ENTRIES entries, READERS readers that each copy a
 * part of the log READS times. Entry n has the value n. Steps interleave in every order. Loads may be late, as release
 * and acquire allow: a load of the ring or of `end` returns any value that was stored after the ones that this reader
 * must have seen. A reader that loads entry n has seen `end` = n, since the writer stored it before.
 *
 * What is checked, in every reachable state: a read that returns true copied the entries that were asked for. With
 * -DBROKEN_RELAXED the store to the ring does not release; with -DBROKEN_UNCHECKED a read does not look at `end`
 * again. The check must then fail.
 */
#ifndef SIZE
#define SIZE 2
#endif
#ifndef ENTRIES
#define ENTRIES 5
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef READS
#define READS 2
#endif

byte last[SIZE];  /* the newest entry at this place of the ring */
byte end;         /* number of entries */

proctype Writer() {
  byte n;
  for (n : 0 .. ENTRIES - 1) {
    last[n % SIZE] = n;
    end = n + 1
  }
}

proctype Reader() {
  byte k, from, to, i, seen_end;
  bit wrong;
  for (k : 1 .. READS) {
    to = seen_end;
    do  /* end() */
    :: atomic { to < end -> to++ }
    :: break
    od;
    atomic { seen_end = to; from = to };
    do
    :: atomic { from > 0 && to - from < SIZE -> from-- }
    :: break
    od;
    atomic { wrong = 0; i = from };
    do
    :: i < to ->
       byte entry = i;
       do  /* the entry asked for, or a later one at its place */
       :: atomic { entry < last[i % SIZE] -> entry = entry + SIZE }
       :: break
       od;
       atomic {
         if
         :: entry != i -> wrong = 1
         :: else
         fi;
#ifndef BROKEN_RELAXED
         if
         :: entry > seen_end -> seen_end = entry
         :: else
         fi;
#endif
         i++
       }
    :: else -> break
    od;
#ifndef BROKEN_UNCHECKED
    i = seen_end;
    do  /* end() again */
    :: atomic { i < end -> i++ }
    :: break
    od;
    atomic { seen_end = i };
    if
    :: from == to || i < from + SIZE -> assert(!wrong)
    :: else
    fi;
#else
    assert(!wrong);
#endif
    atomic { from = 0; to = 0; i = 0; wrong = 0 }
  }
}

init {
  byte i;
  atomic {
    run Writer();
    for (i : 1 .. READERS) { run Reader() }
  }
}
