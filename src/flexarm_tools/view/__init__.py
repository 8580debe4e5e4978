"""`flexarm view`: the arm, its deflection and its signals in a browser, of a running graph or of recorded runs."""
