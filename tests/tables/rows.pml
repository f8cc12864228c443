/* Versions of rows, engine/tables/cow.h: copies of a column that share chunks until one side writes, checked
 * exhaustively.
 *
 * What is modelled: a column of two chunks behind one root (the pages between them share in the same way). The writer
 * makes EDITS edits. COPIES copies are made between its edits, under the tables' lock. Each copy is read by a thread
 * of its own, that then releases it without the lock; with OWN_EDIT the first copy is written once too. A chunk holds
 * a value in two halves, so that a write in place is two steps. Every access to a count, a reference or a half is one
 * step, and steps interleave in every order.
 *
 * What is checked, in every reachable state:
 *   - a copy reads what the column held when it was made, however late
 *   - nothing that was freed is read, written or freed again
 *   - when all copies are released, the column holds its last values and owns all that is not freed
 * With -DBROKEN_CHUNK a write looks at the root's count only; with -DBROKEN_SHARES the copy of a root does not say
 * that it shares chunks. The checks must then fail.
 */
#ifndef EDITS
#define EDITS 3
#endif
#ifndef COPIES
#define COPIES 2
#endif
#define ROOTS (1 + EDITS + COPIES)
#define CHUNKS (2 + EDITS + COPIES)

typedef Chunk { byte count; byte half[2] }
typedef Root { byte count; bit shares; byte chunk[2] }
Chunk chunk[CHUNKS];
Root root[ROOTS];
byte chunks = 2, roots = 1;  /* made so far: nothing is used twice */
bit locked;                  /* the tables' lock */

byte column;                 /* the root of the column */
byte value[2];               /* for the checks: what the column holds */
byte of_copy[COPIES];        /* the root of each copy */
byte then0[COPIES], then1[COPIES];  /* what the column held */

/* The elements of chunk `c` behind root `mine`, to be written: CowVector::edit(). `mine` becomes the new root. */
inline edit(mine, c, v) {
  assert(root[mine].count > 0);
  if
  :: atomic { root[mine].count == 1 -> own = 1; all_own = !root[mine].shares }
  :: atomic { else -> own = 0; all_own = 0 }
  fi;
  if
  :: own -> skip
  :: else ->
     atomic {  /* new Root(*root): counts of the chunks go up */
       fresh = roots; roots++;
       root[fresh].count = 1;
       root[fresh].chunk[0] = root[mine].chunk[0];
       root[fresh].chunk[1] = root[mine].chunk[1];
#ifndef BROKEN_SHARES
       root[fresh].shares = 1;
       root[mine].shares = 1
#endif
     };
     atomic { assert(chunk[root[fresh].chunk[0]].count > 0); chunk[root[fresh].chunk[0]].count++ };
     atomic { assert(chunk[root[fresh].chunk[1]].count > 0); chunk[root[fresh].chunk[1]].count++ };
     release(mine);
     mine = fresh
  fi;
  target = root[mine].chunk[c];
  assert(chunk[target].count > 0);
  if
#ifdef BROKEN_CHUNK
  :: skip
#else
  :: all_own -> skip
  :: else ->
     if
     :: chunk[target].count == 1 -> skip
     :: else ->
        atomic { fresh = chunks; chunks++; chunk[fresh].count = 1; chunk[fresh].half[0] = chunk[target].half[0] };
        chunk[fresh].half[1] = chunk[target].half[1];
        root[mine].chunk[c] = fresh;
        release_chunk(target);
        target = fresh
     fi
#endif
  fi;
  chunk[target].half[0] = v;
  chunk[target].half[1] = v;
  atomic { fresh = 0; target = 0; own = 0; all_own = 0; last = 0 }
}

inline release_chunk(x) {
  atomic { assert(chunk[x].count > 0); chunk[x].count-- }
}

inline release(r) {
  atomic { assert(root[r].count > 0); root[r].count--; last = (root[r].count == 0) };
  if
  :: last -> release_chunk(root[r].chunk[0]); release_chunk(root[r].chunk[1])
  :: else
  fi
}

proctype Reader(byte me) {
  byte mine, k;
  byte fresh, target;
  bit own, all_own, last;
  mine = of_copy[me];
#ifdef OWN_EDIT
  if
  :: me == 0 -> edit(mine, 0, 99); then0[me] = 99
  :: else
  fi;
#endif
  for (k : 0 .. 1) {
    atomic { assert(root[mine].count > 0 && chunk[root[mine].chunk[0]].count > 0);
             assert(chunk[root[mine].chunk[0]].half[k] == then0[me]) };
    atomic { assert(root[mine].count > 0 && chunk[root[mine].chunk[1]].count > 0);
             assert(chunk[root[mine].chunk[1]].half[k] == then1[me]) }
  }
  release(mine)
}

init {
  byte e, c, copies;
  byte fresh, target;
  bit own, all_own, last;
  atomic {
    root[0].count = 1;
    root[0].chunk[1] = 1;
    chunk[0].count = 1;
    chunk[1].count = 1
  }
  for (e : 1 .. EDITS) {
    do
    :: atomic {
         copies < COPIES ->
         root[column].count++;
         of_copy[copies] = column;
         then0[copies] = value[0];
         then1[copies] = value[1];
         run Reader(copies);
         copies++
       }
    :: break
    od;
    if
    :: c = 0
    :: c = 1
    fi;
    edit(column, c, e);
    atomic { value[c] = e; c = 0 }
  }
  (_nr_pr == 1);
  d_step {
    assert(root[column].count == 1);
    for (c : 0 .. 1) {
      assert(chunk[root[column].chunk[c]].count == 1);
      assert(chunk[root[column].chunk[c]].half[0] == value[c] && chunk[root[column].chunk[c]].half[1] == value[c])
    }
    own = 0;
    for (c : 0 .. CHUNKS - 1) { e = 0; assert(chunk[c].count <= 1); own = 0 }
    target = 0;
    for (c : 0 .. CHUNKS - 1) { target = target + chunk[c].count }
    assert(target == 2);
    target = 0;
    for (c : 0 .. ROOTS - 1) { target = target + root[c].count }
    assert(target == 1)
  }
}
