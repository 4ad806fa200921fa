"""English gerunds: the verb that a person would say."""

from __future__ import annotations

import pytest

from toolparity.normalizer.turns.gerunds import base, starts_verb

_PAIRS = """
    checking=check looking=look getting=get making=make running=run planning=plan seeing=see writing=write tying=tie
    lying=lie agreeing=agree searching=search fetching=fetch finding=find reading=read loading=load uploading=upload
    downloading=download sending=send booking=book canceling=cancel cancelling=cancel updating=update creating=create
    deleting=delete removing=remove retrieving=retrieve resolving=resolve saving=save moving=move archiving=archive
    reserving=reserve having=have giving=give receiving=receive approving=approve placing=place replacing=replace
    tracing=trace producing=produce balancing=balance referencing=reference slicing=slice invoicing=invoice
    sourcing=source announcing=announce syncing=sync using=use browsing=browse closing=close choosing=choose
    parsing=parse analysing=analyse raising=raise purchasing=purchase releasing=release revising=revise
    diagnosing=diagnose composing=compose focusing=focus processing=process passing=pass discussing=discuss
    assessing=assess accessing=access analyzing=analyze organizing=organize sizing=size summarizing=summarize
    freezing=freeze quizzing=quiz bringing=bring pinging=ping hanging=hang changing=change arranging=arrange
    exchanging=exchange challenging=challenge ranging=range plunging=plunge prolonging=prolong belonging=belong
    merging=merge charging=charge purging=purge converging=converge judging=judge bridging=bridge
    acknowledging=acknowledge managing=manage packaging=package staging=stage engaging=engage messaging=message
    damaging=damage averaging=average debugging=debug logging=log tagging=tag flagging=flag plugging=plug
    bundling=bundle handling=handle compiling=compile scheduling=schedule rescheduling=reschedule assembling=assemble
    enabling=enable disabling=disable sampling=sample settling=settle toggling=toggle googling=google cycling=cycle
    recycling=recycle titling=title profiling=profile curling=curl crawling=crawl mailing=mail emailing=email
    detailing=detail failing=fail dealing=deal revealing=reveal healing=heal boiling=boil feeling=feel peeling=peel
    cooling=cool pooling=pool filing=file reconciling=reconcile scaling=scale totaling=total totalling=total
    signaling=signal dialing=dial dialling=dial calling=call recalling=recall pulling=pull filling=fill rolling=roll
    polling=poll scrolling=scroll enrolling=enroll controlling=control travelling=travel labelling=label
    modelling=model installing=install selling=sell telling=tell spelling=spell reselling=resell styling=style
    sharing=share preparing=prepare comparing=compare declaring=declare clearing=clear appearing=appear hearing=hear
    entering=enter ordering=order gathering=gather filtering=filter offering=offer answering=answer
    considering=consider rendering=render registering=register delivering=deliver monitoring=monitor
    triggering=trigger discovering=discover recovering=recover transferring=transfer referring=refer
    interfering=interfere hiring=hire firing=fire acquiring=acquire requiring=require expiring=expire repairing=repair
    pairing=pair exploring=explore storing=store restoring=restore ignoring=ignore scoring=score mirroring=mirror
    refactoring=refactor anchoring=anchor tailoring=tailor coloring=color configuring=configure measuring=measure
    capturing=capture structuring=structure ensuring=ensure securing=secure figuring=figure occurring=occur
    touring=tour pouring=pour calculating=calculate validating=validate translating=translate generating=generate
    estimating=estimate locating=locate navigating=navigate rating=rate dating=date treating=treat repeating=repeat
    eating=eat floating=float evaluating=evaluate graduating=graduate initiating=initiate negotiating=negotiate
    instantiating=instantiate appreciating=appreciate waiting=wait awaiting=await formatting=format
    completing=complete competing=compete depleting=deplete targeting=target budgeting=budget marketing=market
    interpreting=interpret resetting=reset greeting=greet meeting=meet editing=edit visiting=visit auditing=audit
    limiting=limit crediting=credit exhibiting=exhibit inheriting=inherit soliciting=solicit depositing=deposit
    inviting=invite citing=cite reciting=recite uniting=unite igniting=ignite rewriting=rewrite overwriting=overwrite
    expediting=expedite recruiting=recruit submitting=submit splitting=split committing=commit voting=vote
    quoting=quote noting=note promoting=promote denoting=denote piloting=pilot pivoting=pivot plotting=plot
    booting=boot rebooting=reboot computing=compute executing=execute routing=route rerouting=reroute
    distributing=distribute contributing=contribute disputing=dispute muting=mute attributing=attribute shouting=shout
    listing=list collecting=collect requesting=request sorting=sort posting=post importing=import exporting=export
    inserting=insert testing=test adjusting=adjust converting=convert extracting=extract connecting=connect
    printing=print counting=count pasting=paste wasting=waste casting=cast adding=add bidding=bid embedding=embed
    deciding=decide providing=provide dividing=divide guiding=guide hiding=hide concluding=conclude upgrading=upgrade
    trading=trade grading=grade decoding=decode encoding=encode coding=code exploding=explode conceding=concede
    impeding=impede avoiding=avoid recording=record forwarding=forward holding=hold responding=respond building=build
    needing=need feeding=feed asking=ask thinking=think linking=link tracking=track working=work marking=mark
    ranking=rank talking=talk speaking=speak breaking=break seeking=seek taking=take invoking=invoke revoking=revoke
    waking=wake shaking=shake tweaking=tweak picking=pick clicking=click trafficking=traffic naming=name
    renaming=rename timing=time assuming=assume resuming=resume consuming=consume streaming=stream welcoming=welcome
    becoming=become coming=come performing=perform confirming=confirm transforming=transform claiming=claim
    zooming=zoom trimming=trim summing=sum programming=program combining=combine defining=define determining=determine
    examining=examine refining=refine outlining=outline aligning=align signing=sign assigning=assign tuning=tune
    fine-tuning=fine-tune pruning=prune cloning=clone postponing=postpone imagining=imagine declining=decline
    joining=join obtaining=obtain opening=open listening=listen shortening=shorten strengthening=strengthen
    intervening=intervene learning=learn mentioning=mention questioning=question provisioning=provision
    positioning=position reasoning=reason summoning=summon phoning=phone scanning=scan cleaning=clean training=train
    explaining=explain ruining=ruin returning=return warning=warn typing=type scraping=scrape shaping=shape
    wiping=wipe piping=pipe hoping=hope scoping=scope grouping=group developing=develop stopping=stop mapping=map
    shipping=ship zipping=zip dropping=drop wrapping=wrap skipping=skip keeping=keep helping=help stamping=stamp
    describing=describe subscribing=subscribe transcribing=transcribe probing=probe absorbing=absorb climbing=climb
    grabbing=grab scrubbing=scrub publishing=publish refreshing=refresh watching=watch matching=match switching=switch
    hashing=hash caching=cache breathing=breathe reviewing=review viewing=view drawing=draw showing=show
    allowing=allow fixing=fix indexing=index verifying=verify copying=copy paying=pay trying=try identifying=identify
    displaying=display studying=study dying=die guaranteeing=guarantee overseeing=oversee queueing=queue queuing=queue
    going=go doing=do echoing=echo undoing=undo skiing=ski briefing=brief valuing=value rescuing=rescue issuing=issue
    continuing=continue pursuing=pursue arguing=argue double-checking=double-check re-running=re-run
    cross-referencing=cross-reference backing=back putting=put sitting=sit cutting=cut letting=let beginning=begin
    winning=win swimming=swim squaring=square cleansing=cleanse licensing=license advising=advise
    supervising=supervise featuring=feature leaving=leave driving=drive solving=solve improving=improve serving=serve
    observing=observe proving=prove weaving=weave buying=buy saying=say replying=reply applying=apply
    clarifying=clarify notifying=notify modifying=modify classifying=classify supplying=supply carrying=carry
    hurrying=hurry querying=query pushing=push starting=start restarting=restart launching=launch reaching=reach
    teaching=teach touching=touch attaching=attach detaching=detach dispatching=dispatch patching=patch
    stitching=stitch sketching=sketch drilling=drill billing=bill spilling=spill distilling=distill milling=mill
    enquiring=enquire inquiring=inquire equipping=equip quitting=quit acquitting=acquit squeezing=squeeze
    simulating=simulate aggregating=aggregate consolidating=consolidate integrating=integrate migrating=migrate
    paginating=paginate coordinating=coordinate eliminating=eliminate terminating=terminate activating=activate
    deactivating=deactivate authenticating=authenticate authorizing=authorize communicating=communicate
    duplicating=duplicate replicating=replicate investigating=investigate escalating=escalate isolating=isolate
    populating=populate regulating=regulate tabulating=tabulate annotating=annotate rotating=rotate
    quantifying=quantify restructuring=restructure manufacturing=manufacture procuring=procure insuring=insure
    tallying=tally weighing=weigh laughing=laugh photographing=photograph proposing=propose exposing=expose
    disclosing=disclose imposing=impose increasing=increase decreasing=decrease leasing=lease easing=ease
    pleasing=please phrasing=phrase rephrasing=rephrase paraphrasing=paraphrase wondering=wonder remembering=remember
    numbering=number centering=center buffering=buffer tutoring=tutor mentoring=mentor sponsoring=sponsor
    authoring=author vectoring=vector adhering=adhere staring=stare starring=star barring=bar caring=care
    sparing=spare baring=bare hinging=hinge infringing=infringe tinging=tinge impinging=impinge lounging=lounge
    swinging=swing coping=cope taping=tape tapping=tap hopping=hop planing=plane riding=ride ridding=rid biting=bite
    kiting=kite
"""
VERBS = dict(pair.split("=") for pair in _PAIRS.split())


def test_every_gerund_gives_its_verb() -> None:
    assert {word: base(word) for word in VERBS} == VERBS


@pytest.mark.parametrize(
    "word",
    ["string", "thing", "king", "spring", "during", "morning", "nothing", "upcoming", "pending", "billed", "a.txting"],
)
def test_a_word_that_only_ends_alike_is_no_gerund(word: str) -> None:
    assert base(word) is None


def test_a_gerund_is_read_whatever_its_letters() -> None:
    assert base("Looking") == "look"
    assert base("RE-RUNNING") == "re-run"


@pytest.mark.parametrize(
    ("word", "after", "acts"),
    [
        ("billing", "history", False),
        ("billing", "your", True),
        ("shipping", "status", False),
        ("booking", "a", True),
        ("booking", "", False),
        ("checking", "prices", True),
        ("checking", "", True),
        ("upcoming", "the", False),
    ],
)
def test_what_is_mostly_a_noun_acts_only_on_something(word: str, after: str, acts: bool) -> None:
    assert starts_verb(word, after) is acts
