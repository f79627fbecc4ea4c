/* One lock key: an exclusive owner or readers, one queue for both.
 *
 * N instances with one request each at a time; X(i) asks for EXCLUSIVE, the others READ. Commands are atomic and prompt;
 * grant notifications may be lost, waiters may cancel or die. Time is discrete and urgent: a tick waits for every
 * question that is due and for the end of every hold that has lasted HMAX ticks.
 *
 * Properties: exclusion, order and idle time are assertions; `served` is the LTL claim of progress.
 *
 *   -DMODES=m     bit i set: instance i asks for EXCLUSIVE
 *   -DLOST0       each grant notification for instance 0 is counted and lost
 *   -DLOSSY       any grant notification may be lost
 *   -DCANCEL1     instance 1 may give up its wait
 *   -DDIES2       instance 2 may die at any time; PUBSUB NUMSUB goes on counting it (a cluster, or it polls)
 *   -DABSENT2     instance 2 is not counted once it is dead
 *   -DFOREVER     the first reader never releases
 *   -DGAP=n       nobody who could hold waits for longer than n ticks
 *   -DBYPASS=n    at most n grants between the arrival and the grant of instance 0
 * Each BUG_ takes one rule out.
 */
#ifndef N
#define N 4
#endif
#ifndef MODES
#define MODES 5
#endif
#define X(i) ((MODES>>(i))&1)
#define LEASE 5
#define CLAIM 2
#define PATIENCE 4           /* 2 x the claim */
#define HMAX 2
#define IDLE 0
#define WAIT 1
#define HOLD 2
#define DEAD 3

byte own, ottl;              /* exclusive owner: instance + 1 */
byte rttl[N];                /* readers: what is left of each lease */
byte q[N], qlen, seen[N];    /* seen: ticks since the entry's last question */
byte st[N], rs[N], ht[N];
byte gap, bp;
byte xi, h, n, top;
bool got;

#define READERS(n) n=0; xi=0; do :: xi<N -> if :: rttl[xi]>0 -> n++ :: else fi; xi++ :: else -> break od; xi=0

inline qdel(t) { d_step { xi=0;
  do :: xi<qlen && q[xi]!=t -> xi++ :: else -> break od;
  if :: xi<qlen -> do :: xi+1<qlen -> q[xi]=q[xi+1]; xi++ :: else -> break od; qlen--; q[qlen]=0; seen[t-1]=0 :: else fi; xi=0 } }
inline qadd(t) { d_step { xi=0;
  do :: xi<qlen && q[xi]!=t -> xi++ :: else -> break od;
  if :: xi==qlen -> q[qlen]=t; qlen++ :: else fi; seen[t-1]=0; xi=0 } }

inline check() { d_step {
  READERS(n); assert(!(own && n));
  xi=0; n=0; top=0;
  do :: xi<N ->
     if :: st[xi]==HOLD && X(xi) -> top++; assert(own==xi+1)
        :: st[xi]==HOLD && !X(xi) -> n++; assert(rttl[xi]>0)
        :: else fi; xi++
     :: else -> break od;
  assert(top<=1 && !(top && n)); xi=0; n=0; top=0 } }

inline hold(i) { st[i]=HOLD; ht[i]=0; rs[i]=0; check();
#ifdef BYPASS
  if :: i!=0 && st[0]==WAIT -> bp++; assert(bp<=BYPASS) :: i==0 -> bp=0 :: else fi
#endif
}
inline put(i,t) { if :: X(i) -> own=i+1; ottl=t :: else -> rttl[i]=t fi }
inline take(i) { if :: X(i) -> own=0; ottl=0 :: else -> rttl[i]=0 fi }

#ifdef LOST0
#define LOSE(i) (i==0)
#define DELIVER(i) (i!=0)
#else
#define DELIVER(i) true
#ifdef LOSSY
#define LOSE(i) true
#else
#define LOSE(i) false
#endif
#endif
#ifdef ABSENT2
#define ABSENT(i) (st[i]==DEAD)
#else
#define ABSENT(i) false
#endif
#ifdef BUG_NOSEEN
#define GONE(i) false
#else
#define GONE(i) (seen[i]>=PATIENCE)
#endif

/* Grants what is free to the heads of the queue, in order. */
inline settle(c) {
  got=0;
  do
  :: own==0 && qlen>0 -> h=q[0]-1; READERS(n);
     if
     :: X(h) && n>0 && h+1!=c && (ABSENT(h) || GONE(h)) -> qdel(h+1)
     :: X(h) && n>0 && !(h+1!=c && (ABSENT(h) || GONE(h))) ->
#ifdef BUG_MIX
        if :: true -> break :: qlen>1 -> own=h+1; ottl=CLAIM; qdel(h+1); break fi
#else
        break
#endif
     :: !(X(h) && n>0) -> qdel(h+1);
        if
        :: h+1==c -> put(h,LEASE); got=1
        :: h+1!=c && ABSENT(h) -> skip
        :: h+1!=c && !ABSENT(h) ->
           put(h,CLAIM);
           if
           :: st[h]==DEAD -> skip
           :: st[h]==WAIT && DELIVER(h) -> hold(h)
           :: st[h]==WAIT && LOSE(h) -> skip
           fi
        fi
     fi
  :: else -> break
  od; h=0; n=0 }

/* Until the key is free for sure: the owner's lease, or the last of the readers'. */
inline resend(i) { d_step { top=ottl; xi=0; do :: xi<N -> if :: rttl[xi]>top -> top=rttl[xi] :: else fi; xi++ :: else -> break od; xi=0;
  if :: top<CLAIM/2 -> rs[i]=top :: else -> rs[i]=CLAIM/2 fi; top=0 } }

inline acquire(i) {
  if
  :: (X(i) && own==i+1) || rttl[i]>0 -> qdel(i+1); put(i,LEASE); hold(i)     /* repeated */
  :: else ->
     settle(i+1); READERS(n);
#ifdef BUG_PASS
     if :: !got && own==0 && (!X(i) || n==0 && qlen==0) -> got=1; put(i,LEASE); qdel(i+1) :: else fi;
#else
     if :: !got && own==0 && qlen==0 && (!X(i) || n==0) -> got=1; put(i,LEASE) :: else fi;
#endif
     if :: got -> hold(i) :: else -> qadd(i+1); st[i]=WAIT; resend(i) fi
  fi; got=0; n=0 }

inline release(i) { qdel(i+1); if :: X(i) -> if :: own==i+1 -> take(i) :: else fi :: else -> take(i) fi;
#ifdef BUG_NOSETTLE
  READERS(n); if :: own==0 && n==0 -> settle(0) :: else fi;
#else
  settle(0);
#endif
  got=0; n=0 }

#define DUE(i) (st[i]==WAIT && rs[i]==0) || (st[i]==HOLD && ((ht[i]>=HMAX && !STAYS(i)) || LEFT(i)==1))
#define LEFT(i) (X(i) -> ottl : rttl[i])
#ifdef FOREVER
#define STAYS(i) (i==3)
#else
#define STAYS(i) false
#endif
#define T1(i) if :: st[i]==WAIT -> rs[i]-- :: st[i]==HOLD && ht[i]<HMAX -> ht[i]++ :: else fi;\
              if :: rttl[i]>0 -> rttl[i]--; assert(rttl[i]>0 || st[i]!=HOLD) :: else fi
#define S1(k) if :: qlen>k && seen[q[k]-1]<PATIENCE -> seen[q[k]-1]++ :: else fi
active proctype Clock() {
  do
  :: atomic { !(DUE(0)) && !(DUE(1)) && !(DUE(2)) && !(DUE(3)) ->
#ifdef GAP
       /* the head of the queue is alive, fits, and does not hold */
       READERS(n);
       if :: qlen>0 && st[q[0]-1]==WAIT && own==0 && (n==0 || !X(q[0]-1)) -> gap++; assert(gap<=GAP) :: else -> gap=0 fi; n=0;
#endif
       T1(0); T1(1); T1(2); T1(3); S1(0); S1(1); S1(2); S1(3);
       if :: ottl>0 -> ottl--; if :: ottl==0 -> assert(st[own-1]!=HOLD); own=0 :: else fi :: else fi }
  od }

active [N] proctype Inst() {
  byte i=_pid-1;
  do
  :: atomic { st[i]==IDLE -> acquire(i) }
  :: atomic { st[i]==WAIT && rs[i]==0 -> acquire(i) }
  :: atomic { st[i]==HOLD && LEFT(i)==1 && (ht[i]<HMAX || STAYS(i)) -> put(i,LEASE) }
  :: atomic { st[i]==HOLD && ht[i]>0 && !STAYS(i) -> st[i]=IDLE; ht[i]=0; release(i) }
#ifdef CANCEL1
  :: atomic { i==1 && st[i]==WAIT && rs[i]==0 -> st[i]=IDLE; rs[i]=0; release(i) }
#endif
#ifdef DIES2
  :: atomic { i==2 && st[i]!=DEAD -> st[i]=DEAD; rs[i]=0; ht[i]=0; break }
#endif
  od }

#ifdef FOREVER
/* Behind a live exclusive waiter, a reader waits for as long as the reader that never releases. */
ltl served { [] ((st[0]==WAIT) -> <> (st[0]==HOLD || st[2]!=DEAD)) }
#else
ltl served { [] ((st[0]==WAIT) -> <> (st[0]==HOLD)) }
#endif
