import sys; sys.path[:0]=['/work/main/test','/work/main/test/support','/work/main/test/core/behavior_impedance']
import numpy as np
from test_transitions import *

rng = np.random.default_rng(1)
made = controller(arm("panda", 100.0, None), MIDDLE["panda"], ImpedanceConfig(transition_acceleration=STEPS))
tick=0
before=made.output.acceleration
for k in range(200):
    sp=random_specs(rng,7); made.set_behaviors(sp)
    ticks=int(rng.integers(1,60))
    for t in range(ticks):
        out=made.update((tick+t)*2_000_000,TICK,STILL)
        d=np.linalg.norm((out.acceleration-before)[:3]); before=out.acceleration
        if d>0.4: print(k,t,ticks,round(d,3),'twist',np.abs(out.twist[:3]).max().round(3),'err',np.abs(out.error).max().round(4),'trans',round(made.transition,2), 'missed',np.abs(made.solver.error).max(), made.solver.status().limited, [s.kind for s in sp], np.abs(made.set_point()[3][:3]).max().round(2))
    tick+=ticks
