import type { DeviceAttention, DeviceNeed } from '@selvedge/protocol/console'
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { Time } from '../../parts/time.tsx'
import './attention.css'

const texts: readonly (readonly [DeviceNeed, IconName, one: string, many: string])[] = [
  ['failing', 'triangle-alert', 'device has a failed service', 'devices have a failed service'],
  ['disk', 'layers', 'device has an almost full disk', 'devices have an almost full disk'],
  ['clock', 'clock', 'device has a clock that is not known', 'devices have a clock that is not known'],
  [
    'certificate',
    'shield-check',
    'device has an expiring certificate',
    'devices have an expiring certificate',
  ],
]

interface AttentionProps {
  readonly attention: DeviceAttention
  readonly onState: (state: string) => void
  readonly onNeed: (need: string) => void
}

/** What needs a person, above the map. Each line shows the devices that it counts. */
export default function AttentionStrip({ attention, onState, onNeed }: AttentionProps) {
  const { total, away, lastSeenAt, needs } = attention
  return (
    <section class="attention" aria-label="Needs attention">
      {away > 0 && (
        <Item kind={away === total ? 'bad' : 'warn'} icon="wifi-off" onChoose={() => onState('away')}>
          {awayText(away, total)}
          {away === total && lastSeenAt !== null && (
            <small>
              last contact <Time of={lastSeenAt} />
            </small>
          )}
        </Item>
      )}
      {texts.map(([need, icon, one, many]) => {
        const count = needs[need] ?? 0
        return (
          count > 0 && (
            <Item
              key={need}
              kind={need === 'failing' ? 'bad' : 'warn'}
              icon={icon}
              onChoose={() => onNeed(need)}
            >
              {`${count.toLocaleString('en')} ${count === 1 ? one : many}`}
            </Item>
          )
        )
      })}
    </section>
  )
}

function awayText(away: number, total: number): string {
  if (away < total) return `${away.toLocaleString('en')} of ${total.toLocaleString('en')} devices away`
  return total === 1 ? 'The only device is away' : `All ${total.toLocaleString('en')} devices are away`
}

function Item(props: {
  kind: 'warn' | 'bad'
  icon: IconName
  onChoose: () => void
  children: ComponentChildren
}) {
  const { kind, icon, onChoose, children } = props
  return (
    <button type="button" class={kind} onClick={onChoose}>
      <Icon name={icon} />
      <span>{children}</span>
      <Icon name="chevron-right" />
    </button>
  )
}
