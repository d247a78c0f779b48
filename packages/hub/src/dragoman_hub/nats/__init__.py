"""Storage for several machines: the journal, the register and the bus on NATS JetStream.

    async with open_nats("nats://one:4222,two:4222,three:4222/team?replicas=3") as store: ...

It needs the extra `dragoman[cluster]`; without it, opening says so. `connection` is the link to the servers,
`jetstream` what is asked of them, `append_queue` and `replay` the two halves of the journal, `catalog` what
is known about streams, `register` and `bus` what nodes share beside them.
"""

from dragoman_hub.nats.options import NatsOptions, is_nats_address, read_address
from dragoman_hub.nats.store import NatsStore, open_nats

__all__ = ["NatsOptions", "NatsStore", "is_nats_address", "open_nats", "read_address"]
