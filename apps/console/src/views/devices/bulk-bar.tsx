import type { BulkResult } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { count } from '../../parts/count.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { FailureDialog } from '../../parts/failure-dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { Icon } from '../../parts/icon.tsx'
import { tell } from '../../parts/toast.tsx'
import type { DeviceQuery } from '../../state/device-query.ts'
import { useHome } from '../../state/viewer.ts'
import { type BulkCall, changeAll } from './bulk.ts'
import { type Chosen, findAll, maxSelected, type Selection } from './selection.ts'
import './bulk-bar.css'

interface BulkProps {
  readonly selection: Selection
  readonly query: DeviceQuery
  /** Devices that the filter selects. */
  readonly total: number
  readonly onChanged: () => Promise<void>
}

/** What can be done with the selected devices. */
export default function BulkBar({ selection, query, total, onChanged }: BulkProps) {
  const { viewer } = useHome()
  const [failures, setFailures] = useState<Failures>()
  const { chosen } = selection
  const change = (call: BulkCall, what: string) => async () => {
    const { done, failed } = await changeAll([...chosen.keys()], call)
    await onChanged()
    if (done.length > 0) tell(`${count(done.length)} ${what}`)
    setFailures(failed.length > 0 ? { failed, chosen } : undefined)
    selection.replace(new Map(failed.map(({ nodeId }) => [nodeId, chosen.get(nodeId) ?? nodeId])))
  }
  return (
    <>
      {chosen.size > 0 && (
        <div class="bulk" role="toolbar" aria-label={`${count(chosen.size)} selected`} onKeyDown={moveFocus}>
          <strong class="num">{chosen.size.toLocaleString('en')} selected</strong>
          <SelectAll selection={selection} query={query} total={total} />
          <TagDevices size={chosen.size} change={change} />
          <TagDevices size={chosen.size} change={change} isRemoving />
          <Destructive size={chosen.size} change={change} isOwner={viewer.role === 'owner'} />
          <button
            type="button"
            class="btn square"
            aria-label="Clear selection"
            title="Clear selection"
            onClick={selection.clear}
          >
            <Icon name="x" />
          </button>
        </div>
      )}
      {failures && (
        <FailureDialog
          failed={failures.failed}
          nameOf={(nodeId) => failures.chosen.get(nodeId) ?? nodeId}
          onClose={() => setFailures(undefined)}
        />
      )}
    </>
  )
}

/** Arrow keys move between the buttons of a toolbar (WAI-ARIA Authoring Practices). */
function moveFocus({ key, currentTarget, target }: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (step === undefined || (target as Element).closest('dialog')) return
  const buttons = [
    ...(currentTarget as Element).querySelectorAll<HTMLButtonElement>(':scope > * button, :scope > button'),
  ]
  const at = buttons.indexOf(target as HTMLButtonElement)
  if (at >= 0) buttons[(at + step + buttons.length) % buttons.length]!.focus()
}

function SelectAll({ selection, query, total }: Omit<BulkProps, 'onChanged'>) {
  if (selection.chosen.size >= Math.min(total, maxSelected)) return null
  const all =
    total > maxSelected ? `Select the first ${maxSelected.toLocaleString('en')}` : `Select all ${total}`
  return <Action run={async () => selection.replace(await findAll(query))}>{all}</Action>
}

interface ChangeProps {
  readonly size: number
  readonly change: (call: BulkCall, what: string) => () => Promise<void>
}

function TagDevices({ size, change, isRemoving = false }: ChangeProps & { isRemoving?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const verb = isRemoving ? 'Remove tag' : 'Add tag'
  return (
    <>
      <button type="button" class="btn" onClick={() => setOpen(true)}>
        <Icon name={isRemoving ? 'minus' : 'tag'} />
        {verb}
      </button>
      {isOpen && (
        <Dialog
          title={isRemoving ? `Remove a tag from ${count(size)}` : `Add a tag to ${count(size)}`}
          closing="Cancel"
          onClose={() => setOpen(false)}
        >
          <Form
            submit={verb}
            send={async (values) => {
              const tags = String(values.get('tags'))
                .split(/[\s,]+/)
                .filter(Boolean)
              const both = isRemoving ? { add: [], remove: tags } : { add: tags, remove: [] }
              const what = isRemoving ? 'lost the tag' : 'tagged'
              await change((nodeIds) => api['devices.tag']({ nodeIds, ...both }), what)()
              setOpen(false)
            }}
          >
            <Field
              label="Tag"
              name="tags"
              required
              placeholder="type:van"
              spellcheck={false}
              hint="A word or key:value. Separate several with spaces."
            />
          </Form>
        </Dialog>
      )}
    </>
  )
}

function Destructive({ size, change, isOwner }: ChangeProps & { isOwner: boolean }) {
  const devices = count(size)
  // One device is named in its dialog; for many, the person types how many.
  const typed = size > 1 ? { typed: devices } : {}
  return (
    <>
      <Guarded
        kind=""
        icon="key-round"
        title={`Revoke tokens for ${devices}?`}
        consequence="Programs that use these devices must sign in again. Takes effect within 30 seconds."
        {...typed}
        run={change((nodeIds) => api['devices.revoke']({ nodeIds }), 'have no valid tokens now')}
      >
        Revoke tokens
      </Guarded>
      {isOwner && (
        <>
          <Guarded
            icon="ban"
            title={`Block ${devices}?`}
            consequence="Their tokens are revoked, and they get no more until you unblock them."
            {...typed}
            run={change((nodeIds) => api['devices.block']({ nodeIds }), 'blocked')}
          >
            Block
          </Guarded>
          <Action run={change((nodeIds) => api['devices.unblock']({ nodeIds }), 'unblocked')}>Unblock</Action>
        </>
      )}
    </>
  )
}

interface Failures {
  readonly failed: BulkResult['failed']
  readonly chosen: Chosen
}
