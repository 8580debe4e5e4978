import cProfile,pstats
from flexarm_tools.faults.kinds import *
from flexarm_tools.faults.core_case import CoreCase
s,f=draw_case(11,chosen_kinds(["none","jitter"]),core=True)
c=CoreCase(s,f);c.run()
c=CoreCase(s,f)
p=cProfile.Profile(); p.enable(); o=c.run(); p.disable(); print(o.line()); pstats.Stats(p).sort_stats("tottime").print_stats(22)
