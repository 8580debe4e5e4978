"""Joint efforts that realize desired accelerations, and the check of the controller gains."""
