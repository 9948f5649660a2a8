import { type ComponentChildren, createContext } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** The button that closes the dialog: a form in it shows that beside its own. */
export const Closing = createContext<{ readonly text: string; readonly onClose: () => void } | undefined>(
  undefined,
)

/** A window over the page; the browser keeps the keyboard inside, Escape closes it, and the focus returns to the opener. */
export function Dialog(props: {
  title: string
  onClose: () => void
  /** Buttons at the end; without them, one that closes. */
  footer?: ComponentChildren
  closing?: string
  children: ComponentChildren
}) {
  const { title, onClose, footer, closing = 'Close', children } = props
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    dialog.current?.showModal()
    heading.current?.focus()
    return () => dialog.current?.close()
  }, [])
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby={id}>
      <header>
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <button
          type="button"
          class="btn square quiet"
          aria-label="Close the dialog"
          title="Close"
          onClick={onClose}
        >
          <Icon name="x" />
        </button>
      </header>
      <div class="body">
        <Closing.Provider value={{ text: closing, onClose }}>{children}</Closing.Provider>
      </div>
      <footer>
        {footer ?? (
          <button type="button" class="btn" onClick={onClose}>
            {closing}
          </button>
        )}
      </footer>
    </dialog>
  )
}
