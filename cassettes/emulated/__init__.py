"""Emulated providers: local servers that answer requests from scripts, in the format of the real providers.

`script_player.play` selects the script and the round that answer a request. One module per surface encodes the answer
as the provider does; a third party's wire has it as its part ``emulation``. `http` and `rpc` serve it. Every response
carries a header that marks it as emulated. The members of such a module, where `Play` is the answer to encode:

    answer(play) -> body            the body of an answer that is not streamed
    events(play) -> Iterator[bytes] the chunks of the streamed body, or ConnectionReset
    error(refused) -> (status, headers, body)    an error response
    headers(play) -> dict           the provider's headers of an answer
    ENCODING                        see `encoding.Encoding`; optional

For the replay server, a module may state how its wire differs from OpenAI's format: ``wrap_error(error) -> body``,
``model_entry(model, provider)`` and ``model_list(entries)``.
"""
