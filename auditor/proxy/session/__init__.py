"""One client's session: pure of sockets and of asyncio; what blocks is handed out as jobs.

events --session--> login           SCRAM, database, room
                    lexing          statements of a text
                    commands        what a statement is
                    executing       transactions, settings, cursors; queries from `auditor.proxy.sources`
                    preparing       statements by name, PREPARE and EXECUTE
                    prepared        the extended query
                    cursors         rows, piece by piece
       <--steps---- jobs for threads, and when to send
"""
