create table visit (
  id text primary key,
  at timestamptz not null,
  version integer not null default 0 -- counts its changes
);
