/* Free workers, engine/server/workers.cc: the queue of plans, its applier and the sleep of workers and driver, checked
 * exhaustively.
 *
 * What is modelled: the driver adds EVALS evaluations one by one, with the Turn, and wakes a worker for each; then it
 * waits until nothing is left, and stops the workers. WORKERS workers take evaluations and submit a plan for each. A
 * worker that finds the Turn free serves the queue of plans. The queues are atomic (fifo.pml and ready_queue.pml are
 * models of the lock-free one). A thread that sleeps on a number wakes when it is notified, if the number differs; one
 * notification wakes one sleeper. Every access to a shared variable is one step, and steps interleave in every order.
 *
 * What is checked, in every reachable state:
 *   - one thread applies plans at a time, and each plan is applied once, before its worker goes on
 *   - when the driver finds nothing left, nothing is left
 *   - nothing waits for ever (spin reports it): no plan, no evaluation, no worker at the end, not the driver
 * With -DBROKEN_RECHECK the thread that releases the Turn does not look at the queue again; with -DBROKEN_DRIVER the
 * driver does not serve the queue after its Turn; with -DBROKEN_SEEN a worker reads the number to sleep on after it
 * found nothing; with -DBROKEN_AWAITED the driver reads how many are busy before it says that it waits. The checks
 * must then fail.
 */
#ifndef EVALS
#define EVALS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif

byte ready;             /* evaluations in the broker */
bit turn;               /* taken */
byte work, sleepers, wakes;  /* the number workers sleep on; workers asleep; of those, how many were woken */
byte plans;             /* in the queue: bit w is the plan of worker w */
bit answered[WORKERS];
byte busy;              /* workers that may have an evaluation */
bit stopping, awaited;
bit idle_changed;       /* the driver was notified */
byte applied, served;   /* for the checks */
bit applying;
bit in_queue[WORKERS];

inline serve_plans() {
  do
  :: plans == 0 -> break
  :: else ->
     if
     :: atomic { !turn -> turn = 1 }
     :: else -> break
     fi;
     do
     :: atomic {
          plans > 0 ->
          if  /* the best: any */
          :: in_queue[0] -> plan = 0
#if WORKERS > 1
          :: in_queue[1] -> plan = 1
#endif
#if WORKERS > 2
          :: in_queue[2] -> plan = 2
#endif
          fi;
          in_queue[plan] = 0;
          plans--
        };
        atomic { assert(!applying); applying = 1 };
        atomic { applied++; applying = 0 };
        atomic { assert(!answered[plan]); answered[plan] = 1; plan = 0 }
     :: atomic { plans == 0 -> break }
     od;
     turn = 0;
#ifdef BROKEN_RECHECK
     break
#endif
  od;
  skip
}

proctype Worker(byte me) {
  byte seen, plan;
  bit got, last;
  do
  :: stopping -> break
  :: !stopping ->
     busy++;
#ifndef BROKEN_SEEN
     seen = work;
#endif
     do
     :: stopping -> break
     :: !stopping ->
        atomic {
          if
          :: ready > 0 -> ready--; got = 1
          :: else -> got = 0
          fi
        };
        if
        :: !got -> break
        :: else
        fi;
        answered[me] = 0;
        atomic { plans++; in_queue[me] = 1 };
        serve_plans();
        (answered[me]);
        atomic { assert(!in_queue[me]); served++ };
#ifndef BROKEN_SEEN
        seen = work
#endif
     od;
#ifdef BROKEN_SEEN
     seen = work;
#endif
     atomic { busy--; last = (busy == 0) };
     if
     :: last ->
        atomic { last = awaited; awaited = 0 };
        if
        :: last -> idle_changed = 1
        :: else
        fi
     :: else
     fi;
     if
     :: stopping -> skip
     :: else ->
        atomic {  /* work_.wait(seen) */
          if
          :: work != seen -> skip
          :: else -> sleepers++; got = 1
          fi
        };
        if
        :: got && sleepers > 0 -> skip
        :: else
        fi;
        atomic {
          if
          :: got -> (wakes > 0) -> wakes--; sleepers--
          :: else
          fi
        }
     fi;
     atomic { seen = 0; got = 0; last = 0 }
  od
}

inline notify_one() {
  atomic {
    if
    :: wakes < sleepers -> wakes++
    :: else
    fi
  }
}

active proctype Driver() {
  byte i, left, plan;
  atomic { for (i : 0 .. WORKERS - 1) { run Worker(i) } i = 0 }
  for (i : 1 .. EVALS) {
    atomic { !turn -> turn = 1 };  /* evaluations are added with the Turn */
    ready++;
    turn = 0;
    work++;
    notify_one();
#ifndef BROKEN_DRIVER
    serve_plans()
#endif
  }
  do  /* wait_until_left() */
  :: idle_changed = 0;
#ifndef BROKEN_AWAITED
     awaited = 1;
#endif
     left = 1;
     if
     :: busy != 0 -> skip
     :: else -> left = ready
     fi;
     if
     :: left == 0 && busy != 0 -> left = 1
     :: else
     fi;
#ifdef BROKEN_AWAITED
     awaited = 1;
#endif
     if
     :: left == 0 -> break
     :: else -> (idle_changed)
     fi
  od;
  assert(ready == 0 && served == EVALS && applied == EVALS && plans == 0);
  stopping = 1;
  work++;
  atomic { wakes = sleepers };
  (_nr_pr == 1)
}
