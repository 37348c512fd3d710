import { ArrowUp, Square } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/Button';
import { TextArea } from '../../components/Input';
import styles from './Composer.module.css';

export function Composer({
  busy,
  onSend,
  onStop,
}: {
  busy: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}) {
  const [text, setText] = useState('');
  const send = () => {
    if (busy || text.trim() === '') return;
    onSend(text);
    setText('');
  };
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextArea
        rows={2}
        aria-label="Message"
        placeholder="Ask something"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {busy ? (
        <Button icon={<Square />} onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button kind="primary" type="submit" icon={<ArrowUp />} disabled={text.trim() === ''}>
          Send
        </Button>
      )}
    </form>
  );
}
