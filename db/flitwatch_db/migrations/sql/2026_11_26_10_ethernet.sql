-- Fabrics of Ethernet switches, RoCE's among them.
ALTER TABLE fabric DROP CONSTRAINT fabric_technology_check;
ALTER TABLE fabric ADD CONSTRAINT fabric_technology_check
    CHECK (technology IN ('cray_xc', 'slingshot', 'infiniband', 'opa', 'ethernet', 'generic'));
