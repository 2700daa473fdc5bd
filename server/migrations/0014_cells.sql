-- A cell is one whole installation out of several behind one address. The keys of an account in a named cell carry a label:
-- three characters that name the cell in which the account was created, and seven for the account. Without cells, the table
-- stays empty and no account has a label.
create table pb.cell (
  single_row boolean primary key default true check (single_row),
  name text not null check (name ~ '^[a-z0-9]{3}$')
);

alter table pb.accounts add column label text constraint well_formed_label check (label ~ '^[a-z0-9]{10}$');
create unique index accounts_label on pb.accounts (label) where label is not null;
