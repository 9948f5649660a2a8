/** The one place that removes secrets and control sequences from what is printed, logged or exported. */
export { escapeControls, onOneLine, withoutControls } from './controls.ts'
export { isSecretName, redactText } from './secrets.ts'
