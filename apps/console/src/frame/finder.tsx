/** Search and jump: devices by name or node ID, and pages. A combobox with a listbox (WAI-ARIA Authoring Practices). */
import type { Device } from '@selvedge/protocol/console'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api.ts'
import { capital } from '../parts/capital.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { nameOf } from '../state/presence.ts'
import { navigate } from '../state/route.ts'
import { pages } from './sidebar.tsx'
import './finder.css'

interface Hit {
  readonly group: string
  readonly to: string
  readonly title: string
  readonly about: string
  readonly icon: IconName
}

/** Milliseconds without a key after which devices are searched, and most of them that are shown. */
const debounceMs = 150
const maxDevices = 8

const pageHits: readonly Hit[] = pages.flatMap(([, entries]) =>
  entries.map(({ to, title, icon }) => ({ group: 'Pages', to, title, about: '', icon })),
)

const hitOf = (device: Device): Hit => ({
  group: 'Devices',
  to: `/devices/${device.nodeId}`,
  title: nameOf(device),
  about: capital(device.state),
  icon: 'cpu',
})

function useHits(text: string): readonly Hit[] {
  const [devices, setDevices] = useState<readonly Hit[]>([])
  useEffect(() => {
    let isLast = true
    const timer = setTimeout(async () => {
      const found = await api['device.list']({ search: text }).catch(() => undefined)
      if (isLast && found) setDevices(found.devices.slice(0, maxDevices).map(hitOf))
    }, debounceMs)
    return () => {
      isLast = false
      clearTimeout(timer)
    }
  }, [text])
  const wanted = text.trim().toLowerCase()
  return [...pageHits.filter(({ title }) => title.toLowerCase().includes(wanted)), ...devices]
}

export default function Finder({ takeTyped, onClose }: { takeTyped: () => string; onClose: () => void }) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const hits = useHits(text)
  const chosen = Math.min(at, hits.length - 1)
  useLayoutEffect(() => {
    dialog.current?.showModal()
    field.current?.focus()
    setText(takeTyped())
    return () => dialog.current?.close()
  }, [])
  const go = ({ to }: Hit) => {
    onClose()
    navigate(to)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const hit = hits[chosen]
    if (step !== undefined) setAt((chosen + step + hits.length) % Math.max(1, hits.length))
    else if (event.key === 'Enter' && hit) go(hit)
    else return
    event.preventDefault()
  }
  return (
    <dialog class="palette" ref={dialog} onClose={onClose} aria-label="Search or jump to">
      <div class="search">
        <Icon name="search" />
        <input
          class="input"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={hits[chosen] && `${id}-${chosen}`}
          aria-label="Search or jump to"
          placeholder="Device, node ID or page"
          autocomplete="off"
          spellcheck={false}
          maxLength={64}
          ref={field}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div class="hits" role="listbox" id={id} aria-label="Results">
        {hits.map((hit, index) => (
          <HitRow
            key={hit.to}
            id={`${id}-${index}`}
            hit={hit}
            isFirst={hits[index - 1]?.group !== hit.group}
            isChosen={index === chosen}
            onChoose={() => go(hit)}
          />
        ))}
        {hits.length === 0 && <p class="soft">No device or page matches “{text}”</p>}
      </div>
    </dialog>
  )
}

function HitRow(props: { id: string; hit: Hit; isFirst: boolean; isChosen: boolean; onChoose: () => void }) {
  const { id, hit, isFirst, isChosen, onChoose } = props
  return (
    <>
      {isFirst && <h3 role="presentation">{hit.group}</h3>}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field. */}
      <div role="option" id={id} tabIndex={-1} aria-selected={isChosen} onClick={onChoose}>
        <Icon name={hit.icon} />
        <span class="cut">{hit.title}</span>
        <span class="faint push">{hit.about}</span>
      </div>
    </>
  )
}
