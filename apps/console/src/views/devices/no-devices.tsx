/** What is in place of the list where there is no device to list. Loaded only then. */
import { Copy } from '../../parts/copy.tsx'
import { Link } from '../../parts/link.tsx'
import { Card, Empty } from '../../parts/view.tsx'

/** @param search what no device matches; undefined: the account has no devices */
export default function NoDevices({ search, onClear }: { search: string | undefined; onClear: () => void }) {
  if (search !== undefined)
    return (
      <Empty
        icon="search"
        title={search === '' ? 'No device matches' : `No device matches “${search}”`}
        text="Search finds names, tags and node IDs."
      >
        <button type="button" class="btn" onClick={onClear}>
          Show all devices
        </button>
      </Empty>
    )
  return (
    <Card>
      <Empty icon="cpu" title="No devices yet" text="Run this on a device. It shows up here by itself.">
        <Copy isCommand label="Command that connects a device" text="selvedge up" />
        <Link to="/projects">Other ways to connect</Link>
        <Link to="/devices/join-keys">Many devices: join keys</Link>
      </Empty>
    </Card>
  )
}
