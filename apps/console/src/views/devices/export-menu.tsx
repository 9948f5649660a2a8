import { Refusal, useAction } from '../../parts/action.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { type DeviceQuery, selectionOf } from '../../state/device-query.ts'

const formats = ['csv', 'json'] as const

/** Saves the devices that the filter selects as a file: all pages of them. */
export function ExportMenu({ query }: { query: DeviceQuery }) {
  const { busy, error, act } = useAction()
  const save = (format: (typeof formats)[number]) => {
    const selection = new URLSearchParams(selectionOf(query))
    return act(async () => {
      const { download } = await import('../../parts/download.ts')
      await download(`/console/devices.${format}?${selection}`, `selvedge-devices.${format}`, 'the devices')
    })
  }
  return (
    <span class="action">
      <Menu
        summary={
          <>
            <Icon name="download" />
            {busy ? 'Exporting…' : 'Export'}
          </>
        }
      >
        {formats.map((format) => (
          <li key={format}>
            <button type="button" disabled={busy} onClick={() => save(format)}>
              {format.toUpperCase()}
            </button>
          </li>
        ))}
      </Menu>
      {error && <Refusal text={error} />}
    </span>
  )
}
