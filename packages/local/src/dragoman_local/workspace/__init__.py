"""What a client lends an agent: files here, terminals and decisions beside them.

A workspace knows roots, files and versions. It does not know connections or JSON-RPC; its handlers take the
protocol's messages and are put into a `Client` by `Workspace.serve`. Import from the modules: `workspace`
ties everything together, `settings` says how, `roots` keeps paths inside, `stale` has what is decided about
writes over changed files, `buffers` is where editors plug in.
"""
