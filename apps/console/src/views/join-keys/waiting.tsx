import type { BulkResult, WaitingDevice } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { count } from '../../parts/count.ts'
import { FailureDialog } from '../../parts/failure-dialog.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { Time } from '../../parts/time.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card, Scroll } from '../../parts/view.tsx'
import { type BulkCall, changeAll } from '../devices/bulk.ts'

/** What a waiting device is called here: by nothing but what it states. */
const statedName = ({ name, serial }: WaitingDevice): string => name || serial || 'No name'

interface Failures {
  readonly failed: BulkResult['failed']
  /** Of the devices that were chosen, by their node IDs. */
  readonly names: ReadonlyMap<string, string>
}

/** Devices that wait for an approval, and what could not be decided about them. */
export function Waiting(props: { devices: readonly WaitingDevice[]; onChanged: () => Promise<void> }) {
  const { devices, onChanged } = props
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const [failures, setFailures] = useState<Failures>()
  // Another owner may have decided about some of them.
  const chosen = devices.filter(({ nodeId }) => picked.has(nodeId))
  const decide = (call: BulkCall, what: string) => async () => {
    const names = new Map(chosen.map((each) => [each.nodeId, statedName(each)]))
    const { done, failed } = await changeAll([...names.keys()], call)
    await onChanged()
    if (done.length > 0) tell(`${count(done.length)} ${what}`)
    setFailures(failed.length > 0 ? { failed, names } : undefined)
  }
  const pick = (which: readonly WaitingDevice[], isPicked: boolean) =>
    setPicked((before) => {
      const ids = which.map(({ nodeId }) => nodeId)
      return new Set(isPicked ? [...before, ...ids] : [...before].filter((each) => !ids.includes(each)))
    })
  return (
    <>
      {devices.length > 0 && (
        <Card
          title="Waiting"
          about="Compare the fingerprint with the status page of the device, or “selvedge status” there. All else is what the device states, and is not proved."
          action={<Decisions chosen={chosen.length} decide={decide} />}
          flush
        >
          <WaitingTable devices={devices} picked={picked} onPick={pick} />
        </Card>
      )}
      {failures && (
        <FailureDialog
          failed={failures.failed}
          nameOf={(nodeId) => failures.names.get(nodeId) ?? nodeId}
          onClose={() => setFailures(undefined)}
        />
      )}
    </>
  )
}

function Decisions(props: { chosen: number; decide: (call: BulkCall, what: string) => () => Promise<void> }) {
  const { chosen, decide } = props
  return (
    <>
      <Action
        disabled={chosen === 0}
        run={decide((nodeIds) => api['join.approve']({ nodeIds }), 'approved. They join within minutes.')}
      >
        Approve
      </Action>
      <Guarded
        disabled={chosen === 0}
        title={`Refuse ${count(chosen)}?`}
        consequence="A refused device cannot join by the same key again."
        run={decide((nodeIds) => api['join.refuse']({ nodeIds }), 'refused')}
      >
        Refuse
      </Guarded>
    </>
  )
}

interface TableProps {
  readonly devices: readonly WaitingDevice[]
  readonly picked: ReadonlySet<string>
  readonly onPick: (which: readonly WaitingDevice[], isPicked: boolean) => void
}

function WaitingTable({ devices, picked, onPick }: TableProps) {
  const isWhole = devices.every(({ nodeId }) => picked.has(nodeId))
  return (
    <Scroll label="Table of waiting devices">
      <table class="table cards-narrow">
        <thead>
          <tr>
            <th class="pick">
              <input
                type="checkbox"
                aria-label="Select all waiting devices"
                checked={isWhole}
                indeterminate={!isWhole && devices.some(({ nodeId }) => picked.has(nodeId))}
                onChange={() => onPick(devices, !isWhole)}
              />
            </th>
            <th>Name, as stated</th>
            <th>Fingerprint</th>
            <th>Key</th>
            <th>Address</th>
            <th>Waiting since</th>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <WaitingRow key={device.nodeId} device={device} picked={picked} onPick={onPick} />
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function WaitingRow({ device, picked, onPick }: Omit<TableProps, 'devices'> & { device: WaitingDevice }) {
  const { nodeId, fingerprint, serial, version, address, since, keyId, keyTitle } = device
  return (
    <tr data-node={nodeId}>
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Select ${fingerprint}`}
          checked={picked.has(nodeId)}
          onChange={({ currentTarget }) => onPick([device], currentTarget.checked)}
        />
      </td>
      <td class="main">
        <span class="name">{statedName(device)}</span> <span class="badge">Stated</span>
        <small class="id">
          {serial ? `Serial number ${serial}` : 'No serial number'}
          {version && ` · ${version}`}
        </small>
      </td>
      <td class="mono">{fingerprint}</td>
      <td>{keyTitle || `Key ${keyId.slice(0, 8)}`}</td>
      <td class="soft">{address}</td>
      <td class="soft">
        <Time of={since} />
      </td>
    </tr>
  )
}
