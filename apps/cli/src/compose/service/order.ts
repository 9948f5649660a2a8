/** Keys about the order of services: what waits for what. */
import type { AppService } from '@selvedge/protocol'
import { type At, flagOf, membersOf, note, problem, textOf, textsOf } from '../at.ts'
import { shown } from '../report.ts'
import { type Draft, type Keys, used } from './draft.ts'

type Condition = AppService['dependsOn'][number]['condition']

const conditions: Readonly<Record<string, Condition>> = {
  service_started: 'started',
  service_healthy: 'healthy',
  service_completed_successfully: 'completed',
}

function readCondition(at: At): Condition | undefined {
  const text = textOf(at)
  if (text === undefined) return undefined
  return Object.hasOwn(conditions, text)
    ? conditions[text]
    : problem(at, `${shown(text)} is not a condition. Write ${Object.keys(conditions).join(', ')}.`)
}

function readDependsOn(draft: Draft, at: At): void {
  if (at.tree.kind !== 'map') {
    for (const item of textsOf(at))
      draft.dependsOn.push({ service: item.text, condition: 'started', isRequired: true, at: item })
    return
  }
  for (const member of membersOf(at)) {
    let condition: Condition = 'started'
    let isRequired = true
    for (const option of membersOf(member)) {
      if (option.name === 'condition') condition = readCondition(option) ?? condition
      else if (option.name === 'required') isRequired = flagOf(option) ?? isRequired
      else if (option.name === 'restart')
        note(option, 'An app is redeployed as one: services are started in their order.')
      else problem(option, 'Only condition, required and restart are possible here.')
    }
    draft.dependsOn.push({ service: member.name, condition, isRequired, at: member })
  }
}

/** Services of an app find each other by name without links; a link is an order of the start. */
function readLinks(draft: Draft, at: At): void {
  for (const item of textsOf(at)) {
    const [service = '', alias = service] = item.text.split(':')
    if (alias !== service)
      problem(
        item,
        `Names of links are not supported. Add ${shown(alias)} to "aliases" of a network of ${shown(service)}.`,
      )
    else if (!draft.dependsOn.some((each) => each.service === service))
      draft.dependsOn.push({ service, condition: 'started', isRequired: true, at: item })
  }
}

export const orderKeys: Keys = {
  depends_on: used('the order of the start, with its conditions', readDependsOn),
  links: used('the order of the start; names of links are refused', readLinks),
}
