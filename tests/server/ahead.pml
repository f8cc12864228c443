/* Deciding ahead, engine/server/ahead.h: the hand-over between the server's thread and those that decide, checked
 * exhaustively.
 *
 * What is modelled: EVALS evaluations, a ring of THREADS + 1 slots, THREADS threads. The evaluation decides on the
 * newest state, by reading one of two node rows; its commit changes one. Which ones is any choice. The server's thread
 * posts, takes in turn or skips, decides itself where no thread began or the decision is no longer valid, commits, and
 * stops the threads at the end. A thread that sleeps wakes when `posted` differs from what it saw. Every access to a
 * shared variable is one step, and steps interleave in every order.
 *
 * What is checked, in every reachable state:
 *   - a decision that is used is the one that the server's thread would make now
 *   - a slot is not written while a thread decides in it, nor decided in for two evaluations
 *   - all evaluations are decided, once, and all threads end (spin reports a wait without end)
 * With -DBROKEN_LATE a thread reads the number of changes after the state; with -DBROKEN_WAIT the server's thread does
 * not wait for a thread that began. The checks must then fail.
 */
#ifndef EVALS
#define EVALS 3
#endif
#ifndef THREADS
#define THREADS 1
#endif
#define SLOTS (THREADS + 1)

typedef Slot {
  byte number;           /* as posted: 1, 2, ... */
  bit row;               /* the row that the evaluation reads */
  byte change;           /* number of changes before the state was taken */
  byte decision;         /* the version of the row that it read */
  bit done;
  byte busy              /* for the checks: threads that decide here */
}
Slot slot[SLOTS];
byte posted, claimed, change;
bit stopping;
byte version[2];      /* of each row, in the newest state */
byte last_change[2];  /* of each row: the server's thread only */
byte decided;         /* for the checks: evaluations decided and committed, or skipped */

proctype Thread() {
  byte seen, n, s, saw;
  do
  :: seen = posted;
     if
     :: stopping -> break
     :: else
     fi;
     n = claimed;
     if
     :: n >= seen ->
        atomic { posted != seen -> n = 0 }  /* sleeps until it differs */
     :: else ->
        atomic {
          if
          :: claimed == n -> claimed = n + 1; s = n % SLOTS; saw = 1; slot[s].busy++; assert(slot[s].busy == 1)
          :: else -> saw = 0
          fi
        };
        if
        :: saw ->
#ifndef BROKEN_LATE
           slot[s].change = change;
           slot[s].decision = version[slot[s].row];  /* a state is taken at once, under the tables' lock */
#else
           slot[s].decision = version[slot[s].row];
           slot[s].change = change;
#endif
           atomic { assert(slot[s].number == n + 1); slot[s].busy--; slot[s].done = 1 }
        :: else
        fi;
        atomic { n = 0; s = 0; saw = 0; seen = 0 }
     fi
  od
}

active proctype Server() {
  byte taken, s, i;
  bit begun, row;
  atomic { for (i : 1 .. THREADS) { run Thread() } i = 0 }
  do
  :: posted - taken < SLOTS && posted < EVALS ->
     atomic {
       s = posted % SLOTS;
       assert(slot[s].busy == 0);
       slot[s].number = posted + 1;
       if
       :: slot[s].row = 0
       :: slot[s].row = 1
       fi;
       slot[s].done = 0
     };
     posted = posted + 1
  :: taken < posted ->  /* the oldest has its turn */
     s = taken % SLOTS;
     atomic {
       if
       :: claimed == taken -> claimed = taken + 1; begun = 0
       :: else -> begun = 1
       fi
     };
     if
     :: begun ->
#ifndef BROKEN_WAIT
        (slot[s].done)
#endif
     :: else
     fi;
     if
     :: begun && last_change[slot[s].row] <= slot[s].change ->
        atomic {  /* take(): valid */
          assert(slot[s].number == taken + 1);
          assert(slot[s].decision == version[slot[s].row])
        }
     :: else  /* decided in its turn, on the newest state */
     fi;
     if
     :: skip  /* skip(), or a plan without effect */
     :: if
        :: row = 0
        :: row = 1
        fi;
        version[row] = version[row] + 1;  /* the commit */
        atomic { last_change[row] = change + 1; change = change + 1 }
     fi;
     atomic { assert(slot[s].busy == 0); decided++; taken++; s = 0; begun = 0; row = 0 }
  :: taken == EVALS -> break
  od;
  stopping = 1;
  posted = posted + 1;  /* wakes the threads */
  (_nr_pr == 1);
  assert(decided == EVALS)
}
