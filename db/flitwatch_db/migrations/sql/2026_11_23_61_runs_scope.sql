-- Scope `runs`: report the runs of a program and their steps, and nothing else.
ALTER TABLE token
    DROP CONSTRAINT token_scopes_check,
    ADD CONSTRAINT token_scopes_check
        CHECK (scopes <@ '{read,names,advice,tasks,runs,operate,admin}' AND cardinality(scopes) > 0);
