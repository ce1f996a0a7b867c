-- Callers without a login were one author. Each visit is one of its own from now on; what was made before belongs to none.
UPDATE task SET created_by = 'anonymous/before' WHERE created_by = 'anonymous';
UPDATE recommendation SET created_by = 'anonymous/before' WHERE created_by = 'anonymous';
