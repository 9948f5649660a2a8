import type { BulkResult } from '@selvedge/protocol/console'
import { count } from './count.ts'
import { Dialog } from './dialog.tsx'

/** Rows of a list of failures: more are counted. */
const maxShown = 50

/** Devices that were not changed, and why. */
export function FailureDialog(props: {
  failed: BulkResult['failed']
  nameOf: (nodeId: string) => string
  onClose: () => void
}) {
  const { failed, nameOf, onClose } = props
  return (
    <Dialog title={`${count(failed.length)} not changed`} closing="Done" onClose={onClose}>
      <ul class="stack close">
        {failed.slice(0, maxShown).map(({ nodeId, message }) => (
          <li key={nodeId}>
            <strong>{nameOf(nodeId)}</strong>
            <br />
            <small>{message}</small>
          </li>
        ))}
      </ul>
      {failed.length > maxShown && <p class="faint">and {count(failed.length - maxShown)} more</p>}
    </Dialog>
  )
}
