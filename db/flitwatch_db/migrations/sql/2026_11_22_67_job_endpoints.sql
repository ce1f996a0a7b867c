-- A node has several endpoints: on several leaves of a fabric, on several planes. A row stands for each of them; a node in no fabric has one.
ALTER TABLE job_node DROP CONSTRAINT job_node_pkey;
CREATE UNIQUE INDEX job_node_endpoint ON job_node (job_pk, node, fabric_id, endpoint) NULLS NOT DISTINCT;
INSERT INTO job_node (job_pk, node, fabric_id, endpoint, router)
    SELECT n.job_pk, n.node, e.fabric_id, e.endpoint, e.router
    FROM job_node n JOIN endpoint e ON e.fabric_id = n.fabric_id AND e.node = n.node AND e.endpoint <> n.endpoint
    ON CONFLICT DO NOTHING;

-- Fabrics whose endpoints sit in the same nodes; each pair stands twice, once from each side.
CREATE TABLE fabric_plane (
    fabric_id int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    other_id  int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    PRIMARY KEY (fabric_id, other_id)
);
GRANT SELECT ON fabric_plane TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, DELETE ON fabric_plane TO flitwatch_writer;
