-- The comparison with the payment processor looked back three days, so payments were missed after a longer outage of the
-- worker. It now starts three days before the last comparison that completed.
create table pb.payment_comparison (
  single_row boolean primary key default true check (single_row),
  compared_until timestamptz not null
);

insert into pb.payment_comparison (compared_until) values (clock_timestamp());
