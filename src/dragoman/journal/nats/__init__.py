"""Beyond one machine: the journal, the register and the bus on NATS JetStream.

    async with open_nats("nats://one:4222,two:4222,three:4222/team?replicas=3") as place: ...

It needs the extra `dragoman[nats]`; without it, opening says so. `wire` is the connection, `jetstream` what
is asked of the servers, `appending` and `replaying` the two halves of the journal, `catalog` what is known
about streams, `register` and `bus` what nodes share beside them.
"""

from dragoman.journal.nats.options import Options, is_nats_address, read_address
from dragoman.journal.nats.store import NatsPlace, open_nats

__all__ = ["NatsPlace", "Options", "is_nats_address", "open_nats", "read_address"]
