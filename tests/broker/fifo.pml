/* The rings of engine/broker/fifo.h: push, pop and growing, checked exhaustively.
 *
 * What is modelled: a first ring of 2 slots and a second one of SECOND slots that a push may open; a slot is (turn,
 * tag, value) and changes by compare-exchange; head and tail of each ring are hints, stored without compare-exchange,
 * so that a late store sets them back. Every access to shared memory is one step, and steps interleave in every order.
 * Bounds: PRODUCERS processes push PUSHES items each, CONSUMERS processes pop POPS times each. The second ring is
 * never full within them; turns do not wrap.
 *
 * What is checked, in every reachable state:
 *   - items are taken in the order of their pushes' compare-exchanges, each once
 *   - a pop that finds the Fifo empty loads the slot at a moment when everything pushed had been taken
 *   - a walk never meets a slot of an earlier turn
 *   - when all are done, what was not taken is still there
 *   - no way comes back to a state: each step of a process brings one of them nearer to its end (lock-free)
 * One of the processes may end at any step; the others must come to their end. With -DBROKEN_AFTER a push does not
 * look at the slot behind its own before it fills it: the checks must then fail.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef POPS
#define POPS 2
#endif
#ifndef SECOND
#define SECOND 4
#endif
#define EMPTY 0
#define ITEM 1
#define CLOSED 2

typedef Slot { byte turn; byte tag; byte value }
typedef Ring { Slot slot[SECOND]; byte head; byte tail }
Ring ring[2];
bit push_ring, pop_ring;  /* which ring is in use, as hints too: moved on by compare-exchange */

byte pushed, taken;  /* for the checks: items get numbers 1, 2, ... at their push's compare-exchange */

#define size(r) (r == 0 -> 2 : SECOND)
#define turn(r, p) ((p) / size(r))
#define at(r, p) ring[r].slot[(p) % size(r)]

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

proctype Producer() {
  byte k, t, w_turn, w_tag, after;
  bit r;
  {
  for (k : 1 .. PUSHES) {
    atomic { r = push_ring };
    atomic { t = ring[r].tail };
look:
    atomic { w_turn = at(r, t).turn; w_tag = at(r, t).tag };
    if
    :: w_turn > turn(r, t) -> t = t + (w_turn - turn(r, t) - 1) * size(r) + 1; goto look
    :: w_turn < turn(r, t) -> assert(false)
    :: else
    fi;
    if
    :: w_tag == ITEM -> t++; goto look
    :: w_tag == CLOSED ->
       assert(r == 0);
       atomic {
         if
         :: push_ring == r -> push_ring = 1
         :: else
         fi;
         r = 1
       };
       atomic { t = ring[r].tail };
       goto look
    :: else
    fi;
#ifndef BROKEN_AFTER
    atomic { after = at(r, t + 1).turn };
    if
    :: after != turn(r, t + 1) ->
       assert(r == 0);
       atomic {  /* close */
         if
         :: at(r, t).turn == w_turn && at(r, t).tag == EMPTY -> at(r, t).tag = CLOSED
         :: else
         fi
       };
       goto look
    :: else
    fi;
#endif
    atomic {
      if
      :: at(r, t).turn == w_turn && at(r, t).tag == EMPTY ->
         pushed++;
         at(r, t).tag = ITEM;
         at(r, t).value = pushed
      :: else -> goto look
      fi
    };
    atomic { ring[r].tail = t + 1; t = 0; r = 0; w_turn = 0; w_tag = 0; after = 0 }
  }
  } UNLESS_KILLED
}

proctype Consumer() {
  byte k, h, w_turn, w_tag, w_value;
  bit r;
  {
  for (k : 1 .. POPS) {
again:
    atomic { r = pop_ring };
    atomic { h = ring[r].head };
look:
    atomic {
      w_turn = at(r, h).turn;
      w_tag = at(r, h).tag;
      w_value = at(r, h).value;
      if
      :: w_turn == turn(r, h) && w_tag == EMPTY -> assert(pushed == taken); goto next
      :: else
      fi
    };
    if
    :: w_turn > turn(r, h) -> h = h + (w_turn - turn(r, h) - 1) * size(r) + 1; goto look
    :: w_turn < turn(r, h) -> assert(false)
    :: else
    fi;
    if
    :: w_tag == CLOSED ->
       assert(r == 0);
       atomic {
         if
         :: pop_ring == r -> pop_ring = 1
         :: else
         fi;
         r = 1
       };
       atomic { h = ring[r].head };
       goto look
    :: else
    fi;
    atomic {
      if
      :: at(r, h).turn == w_turn && at(r, h).tag == ITEM && at(r, h).value == w_value ->
         taken++;
         assert(w_value == taken);
         at(r, h).tag = EMPTY;
         at(r, h).value = 0;
         at(r, h).turn = w_turn + 1
      :: else -> goto again
      fi
    };
    atomic { ring[r].head = h + 1 };
next:
    atomic { h = 0; r = 0; w_turn = 0; w_tag = 0; w_value = 0 }
  }
  } UNLESS_KILLED
}

init {
  byte i, r, left;  /* r counts to 2: a bit never ends */
  atomic {
#ifdef KILL
    run Killer();
#endif
    for (i : 1 .. PRODUCERS) { run Producer() }
    for (i : 1 .. CONSUMERS) { run Consumer() }
  }
  (_nr_pr == 1);
  d_step {
    for (r : 0 .. 1) {
      for (i : 0 .. size(r) - 1) {
        if
        :: ring[r].slot[i].tag == ITEM -> left++
        :: else
        fi
      }
    }
    assert(pushed == PRODUCERS * PUSHES || killed != 0);
    assert(left + taken == pushed)
  }
}
