/** What happened to a device, in plain words. */
import { describeEndReason } from '../mcm/end-reasons.ts'
import { describeNoticeReason } from '../methods/notice-reasons.ts'
import { auditWords } from './audit-words.ts'
import type { AuditRecord, DeviceEvent, DeviceHistoryEntry } from './records.ts'

type Words = Pick<DeviceHistoryEntry, 'tone' | 'text' | 'about'>

/** Why a service exited, as a sentence; "" if it did not, or for a reason that this version does not know. */
const why = (reason: string): string => {
  const known = describeEndReason(reason)
  return known && `${known.charAt(0).toUpperCase()}${known.slice(1)}.`
}

const onDevice = (name: string): string => `On the device: selvedge why ${name}`

function ofService({ subject, before, after, reason }: DeviceEvent): Words {
  if (after === '') return { tone: '', text: `${subject} was removed`, about: '' }
  if (after === 'failed') {
    const about = [why(reason), onDevice(subject)].filter(Boolean).join(' ')
    return { tone: 'bad', text: `${subject} failed, and is not started again`, about }
  }
  if (before === '') return { tone: '', text: `${subject} was deployed: ${after}`, about: '' }
  const tone = after === 'running' ? 'good' : ''
  return { tone, text: `${subject} is ${after}`, about: `It was ${before}.` }
}

function eventWords(event: DeviceEvent): Words {
  const { kind, at, subject, before, after, reason } = event
  switch (kind) {
    case 'started':
      return { tone: 'warn', text: 'The device restarted', about: '' }
    case 'returned': {
      const seconds = Math.max(0, Math.round((Date.parse(at) - Date.parse(before)) / 1000))
      return { tone: 'good', text: `Online again after ${elapsed(seconds)}`, about: '' }
    }
    case 'version':
      return { tone: '', text: `Runtime ${after}`, about: `It was ${before}.` }
    case 'service':
      return ofService(event)
    case 'restart': {
      const times = Number(after) - Number(before)
      const text = `${subject} restarted ${times === 1 ? 'once' : `${times} times`}`
      return {
        tone: 'warn',
        text,
        about: [why(reason), onDevice(subject)].filter(Boolean).join(' '),
      }
    }
    case 'notice':
      return {
        tone: 'warn',
        text: `The device reported: ${subject.replaceAll('_', ' ')}`,
        about: describeNoticeReason(subject),
      }
  }
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** A length of time in seconds, cut to whole units of the largest one that fits. */
function elapsed(seconds: number): string {
  const [unit, length] = units.find(([, least]) => seconds >= least) ?? units[3]
  const count = Math.floor(seconds / length)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

const changeWords = (entry: AuditRecord): Words => {
  const { verb, target, changes } = auditWords(entry)
  const about = changes.map(([, before, after]) => `${before} → ${after}`).join('; ') || target
  return {
    tone: entry.outcome === 'ok' ? '' : 'bad',
    text: `${entry.actor} ${verb.replace(/:$/, '')}`,
    about,
  }
}

/** What happened to a device, and what people did to it, in plain words, newest first. */
export const deviceHistory = (
  events: readonly DeviceEvent[],
  changes: readonly AuditRecord[],
): DeviceHistoryEntry[] =>
  [
    ...events.map((event) => ({ id: event.id, at: event.at, kind: event.kind, ...eventWords(event) })),
    ...changes.map((entry) => ({
      id: entry.id,
      at: entry.at,
      kind: 'change' as const,
      ...changeWords(entry),
    })),
  ].sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
