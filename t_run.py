import sys, time, collections
from flexarm_tools.faults.kinds import *
from flexarm_tools.faults.core_case import Case
n0,n1=int(sys.argv[1]),int(sys.argv[2]); names=chosen_kinds(sys.argv[3:])
t=time.time(); rows=collections.defaultdict(list)
for seed in range(n0,n1):
    s,f=draw_case(seed,names,core=True)
    try: o=Case(s,f).run()
    except Exception as e:
        import traceback; traceback.print_exc(); print("CRASH",seed,s,[x.said() for x in f]); continue
    rows[o.kind if '+' not in o.kind else 'pair'].append(o)
    if '-v' in sys.argv or len(names)<5 or o.unexplained: print(o.line())
print(time.time()-t,"s")
for k,os in rows.items():
    print(f"{k:28s} {len(os):4d} worst {max(o.speed_ratio for o in os):10.3g}  missed {sum(bool(o.missed) for o in os)}  {collections.Counter(m for o in os for m in o.missed)}  {collections.Counter(o.recovery for o in os)} named {sum(o.named is True for o in os)}/{sum(o.named is not None for o in os)}")
