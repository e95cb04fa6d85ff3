"""The HTTP API: what agents and programs of others do with a workspace, in the process that serves the pages.

`engine.http.application` is the way in; `engine.http.table` lists every operation, and the router, the OpenAPI
document and the tests are made from that list.
"""
