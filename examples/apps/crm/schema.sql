create table if not exists contact (
  id bigint generated always as identity, -- no number in the id of a text
  agency_id text not null,
  phone text not null, -- as the SDK writes it: +447700900101
  name text,
  primary key (agency_id, phone)
);

create table if not exists visit (
  id text primary key,
  agency_id text not null,
  phone text not null,
  flat text not null,
  at timestamptz not null,
  version integer not null default 0, -- counts the times that it changed
  called_off boolean not null default false,
  foreign key (agency_id, phone) references contact on delete cascade
);

-- the texts about a visit, with their status column
create table if not exists visit_text (
  id text primary key, -- the outbox has the same
  visit_id text not null references visit on delete cascade,
  status text not null
);

create or replace view visit_status as
select visit.id, agency_id, flat, at, text.id as text, text.status
from visit join visit_text text on text.visit_id = visit.id
order by visit.at, text.id;

-- for the texts; a reminder is due at 10:00 on the day before
create or replace view visit_news as
select id, agency_id as "agencyId", phone as "to", flat, time, version,
  called_off, not called_off and "notBefore" > now() as is_reminded,
  "notBefore", at as "notAfter"
from visit,
  lateral (select at at time zone 'Europe/Brussels' as local) here,
  lateral (select to_char(local, 'DD/MM at HH24:MI') as time,
    (date_trunc('day', local) - interval '14 hours')
      at time zone 'Europe/Brussels' as "notBefore") shown;

-- the mirror
create table if not exists message (
  agency_id text not null,
  sid text not null,
  phone text not null,
  direction text not null,
  body text,
  status text,
  at timestamptz,
  primary key (agency_id, sid),
  foreign key (agency_id, phone) references contact on delete cascade
);

create or replace view inbox as
select distinct on (agency_id, phone)
  agency_id, phone, name, body, at, direction = 'inbound' as is_unanswered
from message join contact using (agency_id, phone)
order by agency_id, phone, at desc;

create table if not exists feed (
  agency_id text primary key,
  checkpoint text not null
);

-- their numbers can be guessed, so this stays personal data
create table if not exists erased (contact bytea primary key);
