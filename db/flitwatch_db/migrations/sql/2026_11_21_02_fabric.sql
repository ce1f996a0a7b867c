-- A fabric is written whole, by COPY; its parts have no foreign key, which would look the fabric up once for each of 150,000 links.

CREATE TABLE fabric (
    fabric_id  int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    kind       text NOT NULL CHECK (kind IN ('dragonfly', 'fat_tree', 'torus', 'graph')),
    technology text NOT NULL CHECK (technology IN ('cray_xc', 'slingshot', 'infiniband', 'opa', 'generic')),
    simulated  boolean NOT NULL DEFAULT false,
    counted_at text NOT NULL CHECK (counted_at IN ('receiver', 'sender')),
    timeless   boolean NOT NULL DEFAULT false,
    source     text NOT NULL DEFAULT '',
    attributes jsonb NOT NULL DEFAULT '{}',
    warnings   text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE router (
    fabric_id  int NOT NULL,
    router     int NOT NULL,
    name       text NOT NULL,
    guid       text,
    group_id   int,
    "row"      int,
    col        int,
    level      int,
    coords     int[],
    attributes jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (fabric_id, router)
);
CREATE INDEX router_name ON router (fabric_id, name);

CREATE TABLE endpoint (
    fabric_id    int NOT NULL,
    endpoint     int NOT NULL,
    router       int NOT NULL,
    port         int,
    node         text NOT NULL,
    nid          bigint,
    component_id bigint,
    role         text NOT NULL CHECK (role IN ('compute', 'io', 'service')),
    guid         text,
    PRIMARY KEY (fabric_id, endpoint)
);
CREATE INDEX endpoint_node ON endpoint (node);
CREATE INDEX endpoint_component ON endpoint (component_id);

CREATE TABLE link (
    fabric_id     int NOT NULL,
    link          int NOT NULL,
    src_router    int,
    src_port      int,
    dst_router    int,
    dst_port      int,
    src_endpoint  int,
    dst_endpoint  int,
    class         text NOT NULL,
    bandwidth_bps float8,
    multiplicity  int NOT NULL DEFAULT 1,
    PRIMARY KEY (fabric_id, link),
    CHECK (num_nonnulls(src_router, src_endpoint) = 1 AND num_nonnulls(dst_router, dst_endpoint) = 1)
);

GRANT SELECT ON fabric, router, endpoint, link TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON fabric, router, endpoint, link TO flitwatch_writer;
