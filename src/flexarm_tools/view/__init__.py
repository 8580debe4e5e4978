"""`flexarm view`: the arm, its deflection and its signals in a browser, for a running graph or recorded runs."""
