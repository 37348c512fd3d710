import { javascript } from '@codemirror/lang-javascript';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { setDiagnostics, lintGutter, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { basicSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import styles from './CodeEditor.module.css';

export interface CodeIssue {
  /** 1-based. */
  line: number;
  column: number;
  message: string;
}

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], class: 'code-keyword' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], class: 'code-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'code-number' },
  { tag: tags.comment, class: 'code-comment' },
  { tag: [tags.typeName, tags.className], class: 'code-type' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: 'code-function' },
]);

/**
 * Text put in place of a selection. Left to the browser, it would keep the selection's look in a style attribute,
 * which the page's policy refuses and reports.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const text = event.data;
    if (
      empty ||
      text === null ||
      event.isComposing ||
      view.state.readOnly ||
      !event.inputType.startsWith('insert')
    )
      return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type' });
    const taken = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, from, to, text, insert));
    if (!taken) view.dispatch(insert());
    return true;
  },
});

/** TypeScript or plain text; problems stand in the gutter and under the code. */
export function CodeEditor({
  value,
  onChange,
  label,
  issues = [],
  language = 'typescript',
  readOnly = false,
}: {
  value: string;
  onChange?: (value: string) => void;
  label: string;
  issues?: readonly CodeIssue[];
  language?: 'typescript' | 'plain';
  readOnly?: boolean;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const change = useRef(onChange);
  change.current = onChange;

  useEffect(() => {
    const editable = new Compartment();
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          basicSetup,
          ...(language === 'typescript' ? [javascript({ typescript: true })] : []),
          syntaxHighlighting(colors),
          ...(readOnly ? [] : [lintGutter()]),
          editable.of([EditorState.readOnly.of(readOnly)]),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.lineWrapping,
          replaceSelection,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      view.current = null;
      editor.destroy();
    };
    // the editor is made once; later values come in below
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [language, readOnly, label]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    editor.dispatch(
      setDiagnostics(
        editor.state,
        issues.map((issue) => diagnostic(editor.state, issue)),
      ),
    );
  }, [issues, value]);

  return <div ref={host} className={styles.editor} data-readonly={readOnly || undefined} />;
}

function diagnostic(state: EditorState, issue: CodeIssue): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(1, issue.line), state.doc.lines));
  const from = Math.min(line.to, line.from + Math.max(0, issue.column - 1));
  const word = /^[\w$]+|^\S/.exec(line.text.slice(from - line.from));
  return {
    from,
    to: Math.min(line.to, from + (word?.[0].length ?? 1)),
    severity: 'error',
    message: issue.message,
  };
}
