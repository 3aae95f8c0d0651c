// Prints the accepted entries of an organisation, one a line, with the client that oapi-codegen generates.
//
//	go mod init field-data-client && mkdir client
//	curl "$API_URL/openapi.yaml" >openapi.yaml
//	go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@latest \
//	  -generate types,client -package client -o client/client.gen.go openapi.yaml
//	go mod tidy
//	API_URL=http://127.0.0.1:3000 API_KEY=... go run entries.go
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"field-data-client/client"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	api, err := client.NewClientWithResponses(os.Getenv("API_URL"), client.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	first, status := "*", "accepted"
	for cursor := &first; cursor != nil; {
		page, err := api.ListEntriesWithResponse(context.Background(), &client.ListEntriesParams{
			Cursor: cursor, Status: &status,
		})
		if err != nil {
			log.Fatal(err)
		}
		if page.JSON200 == nil {
			log.Fatalf("%s: %s", page.Status(), page.Body)
		}
		for _, entry := range page.JSON200.Data {
			fmt.Println(entry.Id, entry.CreatedAt, len(entry.Answers))
		}
		cursor = page.JSON200.UnderscoreMetadata.NextCursor
	}
}
