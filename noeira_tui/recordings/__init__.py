"""LeRobot recordings on disk: what is there, what is settled, what the service has."""
