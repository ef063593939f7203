package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/kerf/internal/certs"
)

func newCerts(std IO) *cobra.Command {
	cfg := certs.Config{}
	c := &cobra.Command{
		Use:   "certs --dir DIR",
		Short: "Make or renew the certificates of an installation without cert-manager",
		Long: `Certs makes the certificates by which Kerf's services know each other, and prints them
as Secrets for kubectl. The two authorities that sign are made once and kept in the
folder: keep it as you keep keys. Run it again to renew all certificates; services read
the new ones without a restart.`,
		Example: `  kerf certs --dir kerf-certs | kubectl apply --server-side -f -`,
		Args:    noArguments,
	}
	f := c.Flags()
	f.StringVar(&cfg.Dir, "dir", "", "`folder` of the authorities and the certificates")
	f.StringVarP(&cfg.Namespace, "namespace", "n", "kerf-system", "the `namespace` that Kerf is in")
	f.DurationVar(&cfg.Life, "life", 365*24*time.Hour, "how long certificates last, such as 8760h")
	c.RunE = func(*cobra.Command, []string) error {
		switch {
		case cfg.Dir == "":
			return errors.New("no folder for the authorities: name it with --dir; see kerf certs --help")
		case cfg.Life < time.Hour:
			return fmt.Errorf("--life %s: want an hour or more", cfg.Life)
		case len(validation.IsDNS1123Label(cfg.Namespace)) > 0:
			return fmt.Errorf("--namespace %q: want a namespace's name, of small letters, digits and dashes", cfg.Namespace)
		}
		cfg.Now = std.Now()
		list, err := certs.Renew(cfg)
		if err != nil {
			return err
		}
		for _, s := range list {
			if s.Ends.Before(cfg.Now.Add(cfg.Life)) {
				std.warn([]string{fmt.Sprintf("%s ends with its authority on %s, sooner than --life %s asks for", s.Name, s.Ends.Format(time.DateOnly), cfg.Life)})
			}
			text, err := yaml.Marshal(&corev1.Secret{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: cfg.Namespace, Labels: map[string]string{"app.kubernetes.io/name": "kerf"}},
				Type:       corev1.SecretTypeTLS,
				Data:       map[string][]byte{certs.CertFile: s.Cert, certs.KeyFile: s.Key, certs.CAFile: s.CA},
			})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(std.Out, "---\n%s", text); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
