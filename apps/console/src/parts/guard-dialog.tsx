import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Refusal, useAction } from './action.tsx'
import { busyText } from './busy.ts'
import { Dialog } from './dialog.tsx'

/** Names what cannot be undone, and does it. */
export default function GuardDialog(props: {
  title: string
  verb: string
  typed: string | undefined
  run: () => Promise<unknown>
  onClose: () => void
  children: ComponentChildren
}) {
  const { title, verb, typed, run, onClose, children } = props
  const id = useId()
  const [text, setText] = useState('')
  const { busy, error, act } = useAction()
  const confirm = () =>
    act(async () => {
      await run()
      onClose()
    })
  const footer = (
    <>
      {error && <Refusal text={error} />}
      <button type="button" class="btn" onClick={onClose}>
        Cancel
      </button>
      <button
        type="button"
        class="btn danger solid"
        disabled={busy || (typed !== undefined && text !== typed)}
        aria-busy={busy}
        onClick={confirm}
      >
        {busy ? busyText(verb) : verb}
      </button>
    </>
  )
  return (
    <Dialog title={title} onClose={onClose} footer={footer}>
      <p>{children}</p>
      {typed !== undefined && (
        <div class="field">
          <label for={id}>
            Type <strong>{typed}</strong> to confirm
          </label>
          <input
            id={id}
            class="input"
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </div>
      )}
    </Dialog>
  )
}
