create table note (id varchar(50) primary key, body text not null);
