/** Deploys containers as one. */
import { withImageUsed } from '../../deployments/deployments.ts'
import { keyOf, type Owner } from '../../deployments/ownership.ts'
import { contentsOf, type Deployment, switchTo } from '../deploy.ts'
import type { Entry } from '../entries.ts'
import type { Running } from '../instances.ts'
import { type Change, expectAll } from './change.ts'
import { mustStart } from './changed.ts'
import type { EntriesByKey, Group, TogetherParts } from './group.ts'
import { naming } from './named.ts'
import { type Prepared, prepareAll } from './prepare.ts'
import { clear, dataOf } from './remove.ts'

export async function deployAll(
  context: TogetherParts,
  owner: Owner,
  group: Group,
  entries: EntriesByKey,
): Promise<void> {
  const { store, steps } = context
  const planned = group.specs.map((spec) =>
    naming({ next: spec }, () =>
      steps.plan(owner, keyOf(owner, spec.name), spec, group.rule, group.formerImages?.get(spec.name)),
    ),
  )
  const isNew = (each: Deployment) => mustStart(context, group, each)
  const change: Change = {
    owner,
    rule: group.rule,
    once: group.once,
    complete: group.complete,
    onMember: group.onMember,
    deployments: planned.filter(isNew),
    removed: group.removed.map((name) => keyOf(owner, name)).filter((key) => store.value.containers[key]),
  }
  expectAll(context, store.value, change)
  const revisionOf = (each: Deployment) => (isNew(each) ? each.next.revision : each.before!.revision)
  await group.intend(new Map(planned.map((each) => [each.next.name, revisionOf(each)])), planned)
  for (const each of planned) if (!isNew(each)) group.onMember(each.next.name, 'unchanged')
  const data = dataOf(context, change.removed)
  const contents = change.deployments.flatMap((each) => contentsOf(store.value, each))
  await context.hold(contents, async () =>
    serve(context, await prepareAll(context, change, entries), entries),
  )
  await clear(context, change.removed, data, entries)
}

async function serve(
  { store, clock, schedules, onChange }: TogetherParts,
  prepared: readonly Prepared[],
  entries: EntriesByKey,
): Promise<void> {
  for (const { deployment, started } of prepared) {
    const entry = entries.get(deployment.key)!
    if (started) await switchTo(started.running, started.service, entry)
    else await endService(entry)
    store.updateLazily((value) => withImageUsed(value, deployment.next.imageKey, clock.now()))
  }
  onChange()
  if (prepared.some(({ started }) => hasTimes(started?.running))) await schedules.refresh()
}

const hasTimes = (running: Running | undefined): boolean =>
  running !== undefined && running.plan.settings['MCM.CRON'].length > 0

/** Ends the service that a container was before, which runs once now. */
async function endService(entry: Entry): Promise<void> {
  const { service } = entry
  entry.service = undefined
  await service?.stop()
}
