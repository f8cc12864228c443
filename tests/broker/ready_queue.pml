/* The flags of engine/broker/ready_queue.h: show, hide and pop over two words, checked exhaustively.
 *
 * What is modelled: three levels, 0 and 1 in word 0, 2 in word 1; per word flags, claim and version as in the header;
 * every access to shared memory is one step, and steps of the processes interleave in every order. A level's Fifo is
 * one atomic list (fifo.pml is its model): push appends, peek looks, take removes what peek saw if it is still first.
 * Bounds: PRODUCERS processes push PUSHES items each at any levels, CONSUMERS processes pop POPS times each; set by
 * CMakeLists.txt. Versions count modulo 256 and cannot come round within these bounds.
 *
 * What is checked, in every reachable state:
 *   - a pop returns an item only if at its peek no finished push of a higher level waited (linearizable, priority)
 *   - a pop returns nothing only if at some moment of the call no finished push waited (nothing is hidden)
 *   - when all are done, an item is still there exactly if it was not returned, and once (nothing lost or doubled)
 *   - whatever remains can be found: its level's flag is set
 *   - no way comes back to a state: each step of a process brings one of them nearer to its end (lock-free)
 * With -DKILL one of the processes may end at any step. The others must come to their end, and the item of a push that
 * was not finished may be there without a flag. With -DBROKEN_FLAG hide clears the flag without looking again after
 * the claim; with -DBROKEN_CLAIM it waits for the process that made a claim. The checks must then fail.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef PUSHES
#define PUSHES 1
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef POPS
#define POPS 2
#endif
#define LEVELS 3
#define ITEMS (PRODUCERS * PUSHES)

typedef Word { bit flag[2]; byte claim; byte version }  /* claim: 0 none, 1 + level within the word */
Word word[2];

typedef List { byte item[ITEMS]; byte first; byte last }
List fifo[LEVELS];

/* Not part of the algorithm: what the checks know. */
byte finished[LEVELS];      /* pushes that are over and whose item is not taken */
bit over[ITEMS];            /* the item's push is over */
bit taken[ITEMS];
byte level_of[ITEMS];
byte total;                 /* sum of finished */
byte appended;              /* pushes that came as far as their list */
bit was_empty[CONSUMERS];   /* since this consumer's call began, there was a moment without finished items */

inline note_empty() {
  if
  :: total == 0 -> for (n : 0 .. CONSUMERS - 1) { was_empty[n] = 1 }
  :: else
  fi;
  n = 0
}

inline append(l, x) {
  fifo[l].item[fifo[l].last] = x;
  fifo[l].last++
}

/* found = 1 and seen = the first item, or found = 0 */
inline peek(l) {
  found = (fifo[l].first < fifo[l].last);
  if
  :: found -> seen = fifo[l].item[fifo[l].first]
  :: else -> seen = 0
  fi
}

#define same(i) (word[i].flag[0] == w_flag0 && word[i].flag[1] == w_flag1 && word[i].claim == w_claim && \
                 word[i].version == w_version)
#define load(i) w_flag0 = word[i].flag[0]; w_flag1 = word[i].flag[1]; w_claim = word[i].claim; \
                w_version = word[i].version

#ifdef KILL  /* any process, or none, ends at any step */
byte killed;
proctype Killer() {
  byte i = 2;  /* init is process 0, Killer 1 */
  do
  :: atomic { i < 2 + PRODUCERS + CONSUMERS -> i++ }
  :: atomic { i < 2 + PRODUCERS + CONSUMERS -> killed = i; break }
  :: break
  od
}
#define UNLESS_KILLED unless { killed == _pid }
#else
#define killed 0
#define UNLESS_KILLED
#endif

proctype Producer(byte me) {
  byte k, l, i, item, n;
  bit w_flag0, w_flag1;
  byte w_claim, w_version;
  {
  for (k : 0 .. PUSHES - 1) {
    item = me * PUSHES + k;
    atomic {
      if
      :: l = 0
      :: l = 1
      :: l = 2
      fi;
      level_of[item] = l;
      i = l / 2;
      append(l, item);  /* the slot's compare-exchange */
      appended++
    }
    d_step { load(i) };  /* show() */
    do
    :: atomic {
         ((l % 2 == 0 && w_flag0 || l % 2 == 1 && w_flag1) && w_claim != 1 + l % 2) -> break
       }
    :: atomic {
         else ->
         if
         :: same(i) ->
            word[i].flag[l % 2] = 1;
            word[i].claim = 0;
            word[i].version++;
            break
         :: else -> d_step { load(i) }
         fi
       }
    od;
    atomic {  /* push returns */
      over[item] = 1;
      if
      :: !taken[item] -> finished[l]++; total++
      :: else
      fi;
      l = 0; i = 0; item = 0; w_flag0 = 0; w_flag1 = 0; w_claim = 0; w_version = 0
    }
  }
  } UNLESS_KILLED
}

proctype Consumer(byte me) {
  byte k, l, c, n, seen, expected;
  bit found, above, restart;
  bit w_flag0, w_flag1;
  byte w_claim, w_version;
  bit one_flag; byte one_version;           /* of word 1 at the first pass */
  bit low_flag0, low_flag1; byte low_claim, low_version;  /* word 0 at the first pass */
  bit one_claim;
  {
  for (k : 0 .. POPS - 1) {
    d_step { was_empty[me] = (total == 0) };
again:
    atomic { one_flag = word[1].flag[0]; one_claim = (word[1].claim != 0); one_version = word[1].version };
    if
    :: one_flag -> l = 2
    :: else ->
       d_step { low_flag0 = word[0].flag[0]; low_flag1 = word[0].flag[1]; low_claim = word[0].claim;
                low_version = word[0].version };
       if
       :: low_flag1 -> l = 1
       :: !low_flag1 && low_flag0 -> l = 0
       :: else ->
          /* both passes without flags and with the same versions: empty */
          d_step { restart = (word[1].flag[0] || word[1].version != one_version) };
          if
          :: restart -> goto again
          :: else
          fi;
          d_step { restart = (word[0].flag[0] || word[0].flag[1] || word[0].version != low_version) };
          if
          :: restart -> goto again
          :: else
          fi;
          assert(was_empty[me]);
          goto next
       fi
    fi;
    d_step {  /* peek: the moment at which this pop takes effect, if it does */
      peek(l);
      expected = seen;
      above = (l < 2 && finished[2] > 0 || l < 1 && finished[1] > 0)
    };
    if
    :: !found -> goto hide
    :: else
    fi;
    /* nothing_above(): the own word first, then those above */
    if
    :: l == 2 ->
       d_step { restart = !(word[1].flag[0] == one_flag && (word[1].claim != 0) == one_claim && word[1].version == one_version) }
    :: else ->
       d_step { restart = !(word[0].flag[0] == low_flag0 && word[0].flag[1] == low_flag1 && word[0].claim == low_claim &&
                            word[0].version == low_version) };
       if
       :: !restart -> d_step { restart = (word[1].version != one_version) }
       :: else
       fi
    fi;
    if
    :: restart -> goto again
    :: else
    fi;
    d_step {  /* take */
      peek(l);
      if
      :: found && seen == expected ->
         fifo[l].first++;
         assert(!above);
         assert(!taken[expected]);
         taken[expected] = 1;
         if
         :: over[expected] -> finished[l]--; total--; note_empty()
         :: else
         fi;
         restart = 0
      :: else -> restart = 1
      fi
    };
    if
    :: restart -> goto again
    :: else -> goto next
    fi;
hide:
    atomic { load(l / 2); c = l };
    if
#ifdef BROKEN_CLAIM
    :: w_claim != 0 -> goto again
#else
    :: w_claim != 0 -> c = (l / 2) * 2 + w_claim - 1  /* the claim of another process is carried to its end first */
#endif
    :: w_claim == 0 && (l % 2 == 0 && !w_flag0 || l % 2 == 1 && !w_flag1) -> goto again
    :: else ->
       d_step {
         if
         :: same(l / 2) ->
            word[l / 2].claim = 1 + l % 2;
            word[l / 2].version++;
            w_claim = 1 + l % 2;
            w_version++;
            restart = 0
         :: else -> restart = 1
         fi
       };
       if
       :: restart -> goto again
       :: else
       fi
    fi;
#ifdef BROKEN_FLAG
    found = 0;
#else
    d_step { peek(c) };
#endif
    d_step {
      if
      :: same(l / 2) ->
         word[l / 2].claim = 0;
         word[l / 2].version++;
         if
         :: !found -> word[l / 2].flag[c % 2] = 0
         :: else
         fi
      :: else
      fi;
      c = 0
    };
    goto again;
next:
    atomic { l = 0; c = 0; seen = 0; expected = 0; found = 0; above = 0; restart = 0; w_flag0 = 0; w_flag1 = 0; w_claim = 0;
             w_version = 0; one_flag = 0; one_version = 0; low_flag0 = 0; low_flag1 = 0; low_claim = 0; low_version = 0;
             one_claim = 0 }
  }
  } UNLESS_KILLED
}

init {
  byte i, l, gone;
  atomic {
#ifdef KILL
    run Killer();
#endif
    for (i : 0 .. PRODUCERS - 1) { run Producer(i) }
    for (i : 0 .. CONSUMERS - 1) { run Consumer(i) }
  }
  (_nr_pr == 1);  /* all are done */
  d_step {
    for (i : 0 .. ITEMS - 1) { gone = gone + taken[i] }
    assert(appended == ITEMS || killed != 0);
    assert((fifo[0].last - fifo[0].first) + (fifo[1].last - fifo[1].first) + (fifo[2].last - fifo[2].first) + gone == appended);
    assert(finished[0] == 0 || word[0].flag[0]);
    assert(finished[1] == 0 || word[0].flag[1]);
    assert(finished[2] == 0 || word[1].flag[0])
  }
}
