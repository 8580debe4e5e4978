import numpy as np, dataclasses
import flexarm_tools.faults.arms as A
import flexarm_tools.faults.core_case as C
from flexarm_tools.faults.kinds import *
A.MASS_ERROR=A.FRICTION_SHARE=0.0
s,f=draw_case(8,chosen_kinds(['none','single_loss','jitter']),core=True)
for layout in ("control_loop","hardware_gate"):
    c=C.CoreCase(dataclasses.replace(s,layout=layout),[KINDS["none"](np.random.default_rng(1),.7)])
    c._noise=c._noise*0
    orig=c._drive.advance; k=[0]
    def adv(d):
        orig(d); k[0]+=1
        if k[0]%60==0:
            x=c.backend.sensed(); print("%.3f"%c._now, np.round(x.velocity,2), "xb",np.round(x.deflection,4), np.round(x.deflection_rate,3),"u", None if c._drive._command is None else np.round(c._drive._command,1), c.gate.gate.status.limited)
    c._drive.advance=adv
    print(c.run().line())
