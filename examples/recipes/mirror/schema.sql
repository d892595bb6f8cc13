create table feed (agency_id text primary key, checkpoint text not null);

create table conversation (
  agency_id text not null,
  phone text not null,
  contact_name text,
  window_expires_at timestamptz,
  primary key (agency_id, phone)
);

create table message (
  agency_id text not null,
  sid text not null,
  phone text not null,
  direction text not null,
  body text,
  status text,
  created_at timestamptz,
  primary key (agency_id, sid)
);
