import { Field } from '../../components/Field';
import { TextInput } from '../../components/Input';
import { Section } from '../../components/Screen';
import { fieldProps, type PartProps } from './problems';

export function NamePart({ draft, set, resolved, problemAt }: PartProps) {
  return (
    <Section title="Name">
      <Field label="Name of the run" {...fieldProps(problemAt, 'name')}>
        {(ids) => (
          <TextInput
            {...ids}
            maxLength={120}
            placeholder={resolved.name}
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
    </Section>
  );
}
