create table visit (
  id text primary key,
  at timestamptz not null,
  called_off boolean not null default false,
  version integer not null default 0 -- counts its changes
);
