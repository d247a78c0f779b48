"""The rows of the catalogue: id, what happens, what must follow."""

TEXT = """
CFR-01 | a banner before the first message | the turn completes, its text is shown
CFR-02 | log lines between updates | the turn completes, its text is shown
CFR-04 | lines end in CR LF, blank lines between them | the turn completes, its text is shown
CFR-05 | a byte order mark before the first message | the turn completes, its text is shown
CFR-07 | an update of 8 MiB | shown whole
CFR-08 | a line of 256 MiB | refused, memory grows by 128 MiB at most
CFR-09 | invalid UTF-8 in an update | that update is left out, the turn completes
CFR-11 | NaN and Infinity in an update | that update is left out, the turn completes
CFR-12 | scalars, null, arrays and an empty object as messages | ignored, the turn completes
CFR-15 | half a surrogate pair in the text | the turn completes
CFR-X01 | half a message, then the end | not shown; the death is reported
CFR-X02 | a message in writes of one byte | shown once
CFR-X03 | two messages on one line | neither is taken
CFR-X04 | characters cut between two writes | come through whole
CFR-X05 | NUL bytes, alone and around a message | cost only themselves
CFR-X06 | a message in UTF-16 | costs only itself
CFR-X07 | 64 KiB of random bytes | nothing of it is shown, the turn completes
CFR-X08 | U+2028, U+2029, U+0085 and escaped control characters in a text | they are text
CFR-X09 | arrays and objects nested 100 000 deep | cost only themselves
CFR-X10 | JSON that is cut, has a comma too many, single quotes, comments | costs only itself
CFR-X11 | millions of empty lines and blanks | 12 MiB at most
CFR-X12 | the agent ends without a newline behind its last answer | the answer counts
CFR-X13 | log lines between updates, shown to people | only the text is on stdout
CFR-X14 | an update of 24 MiB | shown whole
CFR-X15 | colours, event stream fields and record separators before a message | that line is left out
CFR-X16 | numbers of 5000 digits and beyond any exponent | the turn completes, no Infinity
CFR-X17 | a member of the envelope named twice | that message is left out
CFR-X18 | member names that mean something to some language | mean nothing
CFR-X19 | 20 000 lines of garbage from an agent that does not read | no deadlock, 26 MiB at most
CFR-X20 | a byte order mark before a later message | costs only itself
CFR-X21 | a message spread over many lines | costs only itself
CFR-X22 | Content-Length headers | cost only themselves
CFR-X23 | an endless line instead of an introduction | the deadline ends it, 128 MiB at most
CFR-X24 | a pause in the middle of a message | the message is taken
CFR-X25 | empty texts, a text that is null | the turn completes
CEN-01 | answers to requests that were never sent | ignored
CEN-02 | three answers to one request | the first counts
CEN-04 | true and false as the id of an answer | not taken
CEN-05 | arrays, objects and fractions as the id of an answer | not taken
CEN-07 | notifications that nobody knows | never answered
CEN-08 | kinds of updates and of content that nobody knows | the turn completes
CEN-10 | updates for sessions that were never opened | not shown
CEN-11 | an error that is a string | reported
CEN-13 | protocol version 999 | a message, and no session
CEN-14 | initialize is refused for want of a login | reported as that
CEN-15 | initialize is answered with null | reported, no session
CEN-17 | the answer within a batch, then the plain one | the batch is not taken
CEN-19 | requests of the agent with ids of every form | answered with the same id
CEN-20 | twenty updates after the answer | shown
CEN-22 | escape sequences in everything that an agent says | never reach the terminal
CEN-X01 | an update before the session is open | shown
CEN-X02 | updates before the introduction | nothing is shown, nothing breaks
CEN-X03 | answers before their requests, by guessed ids | not taken
CEN-X05 | the turn is answered with null | protocol error
CEN-X06 | a reason for the end that nobody knows | protocol error
CEN-X07 | a session without an id | protocol error
CEN-X08 | a number as the id of a session | protocol error
CEN-X09 | an error that is null | reported
CEN-X10 | an error with a text as code and a number as message | reported
CEN-X11 | escape sequences in an error | shown without effect
CEN-X12 | a request that nobody knows | unknown method
CEN-X13 | an array as params | invalid params
CEN-X14 | one id for two requests | two answers
CEN-X15 | a request with an id that the client uses too | no mix-up
CEN-X16 | ids of a megabyte, of 400 digits, of half a character | the turn completes
CEN-X17 | cancels for requests that are not open | nothing happens
CEN-X18 | a prompt, sent to the client | unknown method
CEN-X19 | updates with the wrong members | left out, the turn completes
CEN-X20 | 20 000 updates of other sessions | not shown, 64 MiB at most
CEN-X21 | progress of a tool call that was never announced, one that is announced twice | the turn completes
CEN-X22 | a text as protocol version | reported, no session
CEN-X23 | no protocol version | reported, no session
CEN-X24 | protocol version 0 | reported, no session
CEN-X25 | updates without end after the answer | left after seconds
CEN-X26 | an array as introduction | reported, no session
CEN-X27 | the turn is cancelled by the agent | its own exit status
CEN-X28 | the agent refuses | its own exit status
CEN-X29 | the prompt is refused for want of a login | its own exit status
CEN-X30 | a session that is null | protocol error
CEN-X31 | the turn ends for want of tokens | its own exit status
CEN-X32 | the turn ends after too many requests | its own exit status
CEN-X33 | wrong members in the answer to a prompt | the turn completes
CEN-X34 | initialize, sent to the client | refused
CEN-X35 | a request for permission without params | invalid params
CEN-X36 | an update with an id, as if it were a request | unknown method
CEN-X37 | an answer without a version of JSON-RPC | taken
CEN-X38 | an answer with result and error | the error counts
CEN-X39 | escape sequences, shown quietly | never reach the terminal
CEN-X40 | escape sequences, as events | escaped
CEN-X41 | an answer with neither result nor error | protocol error, at once
CLI-01 | the agent ends at once with exit status 1 | reported, with its last words
CLI-02 | there is no such command | named within five seconds
CLI-04 | the agent closes its output and lives on | reported, and ended
CLI-05 | initialize is never answered | given up, and ended
CLI-07 | the agent ignores the end of its input and SIGTERM | killed within ten seconds
CLI-08 | the agent has a child that would outlive it | both are ended
CLI-10 | SIGTERM in the middle of a turn | both are gone within ten seconds
CLI-11 | secrets in the environment | stay with the client
CLI-13 | open descriptors of the client | the agent has 0, 1 and 2
CLI-X01 | SIGKILL in the middle of a turn | reported, the signal is named
CLI-X02 | a crash in the middle of a turn | reported, the signal is named
CLI-X03 | exit status 0 in the middle of a turn | reported as a death
CLI-X04 | the agent closes its input and still answers | the turn completes
CLI-X05 | 32 MiB on standard error | drained, 32 MiB at most
CLI-X06 | the agent leaves a daemon in a session and a folder of its own | it is found and ended
CLI-X07 | the agent stops reading before a prompt that is larger than a pipe | the deadline ends it
CLI-X08 | silence within a turn | the deadline ends it
CLI-X09 | Ctrl-C, and the agent obeys | cancelled
CLI-X10 | Ctrl-C twice, and the agent ignores all of it | ended
CLI-X11 | SIGHUP in the middle of a turn | both are gone within ten seconds
CLI-X12 | SIGKILL for the client | the agent ends within five seconds
CLI-X14 | a folder as the command | named
CLI-X15 | the agent stops itself (SIGSTOP) | the deadline ends it
CLI-X16 | the agent ignores every end and talks on | killed within ten seconds
CLI-X17 | a child of the agent holds its output after its death | the death is noticed, the child ended
CLI-X18 | a megabyte of last words | their end is shown, without effect on the terminal
CLI-X19 | the agent says something and leaves before it was asked | reported
CLI-X20 | the agent leaves right after its answer | the turn is complete
CLI-X21 | the agent ends instead of opening a session | reported
CLI-X22 | fifty children, each in a session of its own | all are ended
CLI-X23 | SIGTERM for the client of an agent that ignores everything | both are gone within ten seconds
CLI-X24 | a secret that is named on the command line | is handed on, and no other
CLI-X25 | the reader of standard output leaves | the run ends
CLI-X26 | the agent closes its standard error | the turn completes
CLI-X27 | a file that is no program as the command | named
CLI-X28 | a command with an open quote | named
CLI-X29 | initialize is never answered, with a limit for the run | the deadline ends it
CLI-X30 | initialize is never answered, and no limit is given | there is one anyway
CLI-X31 | Ctrl-C when the run has told its end | no traceback, a documented status
CPE-01 | permission without options | not given
CPE-02 | options that are none | not given
CPE-04 | options of an unknown kind, named Allow | not chosen
CPE-05 | permission for a session that was never opened | not given
CPE-07 | a client that denies | nothing is permitted, nothing is written
CPE-X01 | permission after the end of the turn | no more is permitted than in it
CPE-X02 | a hundred requests for permission at once | a hundred answers
CPE-X03 | a yes and a no with the same id | not given
CPE-X04 | options for once and for ever | once is chosen
CPE-X05 | an option named Allow that means no | not chosen
CPE-X06 | reading and editing, where reading is permitted | reading is, editing is not
CPE-X07 | reading outside of the workspace, where reading is permitted | not given
CPE-X08 | a title of a megabyte | answered
CPE-X09 | the agent dies while it asks | the death is reported
CPE-X10 | thinking, where reading is permitted | permitted
CPE-X11 | kinds that look like reading, where reading is permitted | not given
CPE-X12 | reading with a command in it, where reading is permitted | not given
CPE-X13 | permission before the introduction | not given
CPE-X14 | a question that nobody is there to answer | its own exit status
CPE-X15 | an answer hidden in _meta, where everything is permitted | the right option is chosen
CPE-X16 | options for once and for ever, at a client that denies | not given
CPE-X17 | an answer hidden in _meta, at a client that denies | not given
CPE-X18 | an answer hidden in _meta, where reading is permitted | not given
CFS-00 | control: a file of the workspace | its text
CFS-01 | absolute paths outside of the workspace | an error
CFS-03 | a link to a file outside | an error
CFS-04 | a link to a folder outside | an error
CFS-06 | writing through links to the outside | an error, nothing is changed
CFS-07 | writing through a dangling link | an error, nothing is made
CFS-09 | NUL in the path | invalid params
CFS-10 | a FIFO | an error, no waiting
CFS-12 | the environment of the client in /proc | an error
CFS-13 | one line of a file of 300 MiB | that line; 100 MiB at most
CFS-15 | a file that does not exist | not found
CFS-16 | a folder | an error that says so
CFS-18 | a session that was never opened | an error
CFS-19 | _meta with the names of parameters | never overrides the path
CFS-21 | text with emoji and CR LF, written and read back | byte for byte
CFS-X01 | `..` on the way | an error
CFS-X02 | folders whose names begin like the workspace's | an error
CFS-X03 | relative paths | an error
CFS-X04 | no path, a path of 100 000 characters, paths that are no text | an error each
CFS-X05 | devices | an error
CFS-X06 | writing to /proc, to folders, to devices | an error, nothing is changed
CFS-X07 | a link to itself | an error
CFS-X08 | lines and limits that are negative, too large, or no whole number | an error each
CFS-X09 | files that are no UTF-8 | an answer each
CFS-X10 | a socket | an error
CFS-X11 | a link that is swapped while its file is read and written | nothing outside is read or made
CFS-X12 | writing where the folder is missing | the folder is made
CFS-X14 | addresses instead of paths | an error
CFS-X15 | writing for a session that was never opened | an error
CFS-X16 | 400 reads at once, a file of 20 MiB written | an answer each
CFS-X17 | reading a dangling link | an error
CFS-X18 | the home folder as ~ and as a variable | an error
CFS-X19 | the way through /proc/self/root | an error
CFS-X20 | new files outside, also through `..` | an error, nothing is made
CFS-X22 | writing what is no text | an error, nothing is changed
CFS-X23 | a link to a link to the outside | an error
CFS-X24 | a file without any rights | an answer
CFS-X25 | half a surrogate pair, written | an answer
CFS-X26 | a whole file of 300 MiB | refused, 100 MiB at most
CTE-01 | shell syntax in arguments | is text
CTE-02 | shell syntax in the command | is not run
CTE-04 | 9 MB of output, 1000 bytes wanted | 1000 bytes of whole characters at most
CTE-05 | endless output | 48 MiB at most
CTE-07 | release of a command with children that ignore signals | all of them are ended
CTE-08 | the run ends while a command runs | the command is ended
CTE-10 | relative and missing folders, a missing command | an error each
CTE-11 | a terminal under another session's id | an error
CTE-X01 | the agent is killed while a command runs | the command is ended
CTE-X02 | kill, then everything else; release, then everything else | answered, then an error
CTE-X03 | terminals that do not exist | an error each
CTE-X04 | forty terminals at once | each ends, each is released
CTE-X05 | release of a command with a daemon | the daemon is ended
CTE-X06 | secrets in the client's environment | are not handed to commands
CTE-X07 | variables that are none | an error each
CTE-X08 | folders outside of the workspace | an error each
CTE-X09 | output that is no UTF-8 | is shown as text
CTE-X10 | limits of output that are zero, negative, too large, no number | an answer each
CTE-X11 | a command that is killed | the signal is named
CTE-X12 | a command that reads | has nothing to read
CTE-X13 | commands that are none | an error each
CTE-X14 | a command for a session that was never opened | an error
CTE-X15 | a command in the folder of the session | runs there
CTE-X16 | SIGTERM for the client while a command runs | the command is ended
CTE-X17 | wait, output, kill and release all at once | an answer each
CTE-X18 | a command without permission | is not run
CTE-X19 | SIGKILL for the client while a command runs | the command is ended
CBP-01 | 8000 updates in one turn | all shown in order, 8 MiB at most
CBP-02 | nobody reads while the agent sends 24 MiB | the agent has to wait, 16 MiB at most; then all of it
CBP-X02 | a growing output, resent whole 1000 times | 8 MiB at most
CBP-X03 | 8000 requests from an agent that does not read | an answer each, 32 MiB at most
CBP-X04 | updates without end before the session is open | the deadline ends it, 12 MiB at most
CBP-X05 | notifications without end before the introduction | the deadline ends it, 12 MiB at most
CBP-X06 | nobody reads; SIGTERM | gone within ten seconds
CBP-X07 | updates without end in a turn | the deadline ends it, 12 MiB at most
CBP-X08 | the agent says nothing for a while | the client sleeps
CBP-X09 | 20 000 tool calls | 64 MiB at most
"""
