/** What happened, newest first, in groups of a day: rows like those of every list. */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'
import { exactTime } from './time.tsx'

export interface Happening {
  readonly id: string
  /** ISO 8601. */
  readonly at: string
  readonly icon: IconName
  readonly tone: 'good' | 'warn' | 'bad' | ''
  readonly text: ComponentChildren
  readonly about?: ComponentChildren
}

const day = new Intl.DateTimeFormat('en', { dateStyle: 'full' })
const clock = new Intl.DateTimeFormat('en', { timeStyle: 'short', hour12: false })

export function Timeline({ happenings }: { happenings: readonly Happening[] }) {
  const days = Map.groupBy(happenings, ({ at }) => day.format(new Date(at)))
  return (
    <>
      {[...days].map(([name, entries]) => (
        <ul key={name} class="rows" aria-label={name}>
          <li class="faint">{name}</li>
          {entries.map(({ id, at, icon, tone, text, about }) => (
            <li key={id}>
              <span class={`glyph ${tone}-text`}>
                <Icon name={icon} />
              </span>
              <div>
                {text}
                {about && <small>{about}</small>}
              </div>
              <time class="faint num" dateTime={at} title={exactTime(at)}>
                {clock.format(new Date(at))}
              </time>
            </li>
          ))}
        </ul>
      ))}
    </>
  )
}
