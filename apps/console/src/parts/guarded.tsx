import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { type ButtonKind, Refusal, useAction } from './action.tsx'
import { busyText } from './busy.ts'
import { Dialog } from './dialog.tsx'
import { Icon, type IconName } from './icon.tsx'

/** A button for what cannot be undone: a dialog names the thing and the consequences, and does it. */
export function Guarded(props: {
  /** Verb and noun, in the dialog, too. */
  children: string
  title: string
  /** What happens, in numbers where there are some. */
  consequence: ComponentChildren
  /** A person types this before the button of the dialog works. */
  typed?: string
  run: () => Promise<unknown>
  kind?: ButtonKind
  icon?: IconName
  label?: string
  disabled?: boolean
}) {
  const { children, title, consequence, typed, run, kind = 'danger', icon, label, disabled } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class={`btn ${kind}`}
        aria-label={label}
        disabled={disabled}
        onClick={() => setOpen(true)}
      >
        {icon && <Icon name={icon} />}
        {children}
      </button>
      {isOpen && (
        <GuardDialog title={title} verb={children} typed={typed} run={run} onClose={() => setOpen(false)}>
          {consequence}
        </GuardDialog>
      )}
    </>
  )
}

function GuardDialog(props: {
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
